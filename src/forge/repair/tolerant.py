"""The tolerant JSON reader: one pass over what a model wrote, with a ledger of every liberty taken.

Valid JSON is read by the standard library's scanner and comes back as ``json.loads`` would give it. Everything
else goes through one iterative reader that never looks back further than the token at hand, so its cost is
linear in the text, whatever the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from forge.repair.reading import MAX_DEPTH, Reading
from forge.repair.structure import TolerantReader

__all__ = ["Reading", "read_json"]


_GLUED = tuple("\"'”")


def _refuse(_: str) -> Any:
    raise ValueError("not a JSON number")


# The scanner under raw_decode: it raises plain StopIteration, which costs less. Missing from the type stubs.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]


def read_valid(text: str, pos: int) -> tuple[dict[str, Any] | list[Any], int] | None:
    """The object or array that begins right at ``pos`` and its end, if it is valid JSON as it stands."""
    try:
        value, end = _scan(text, pos)
    except (StopIteration, ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) or _too_deep(text, pos, end, value):
        return None
    return value, end


def _too_deep(text: str, start: int, end: int, value: object) -> bool:
    opened = text.count("{", start, end) + text.count("[", start, end)
    return opened > MAX_DEPTH and _depth(value) > MAX_DEPTH


def read_json(
    text: str, pos: int = 0, *, keys: frozenset[str] = frozenset(), broken: bool = False
) -> Reading:
    """Read the JSON value that begins at ``pos`` (white space and comments before it are skipped).

    ``keys`` are the names that members may have (a tool's parameters): they decide where a string with
    unescaped inner quotes ends. Nothing is raised; see :class:`Reading` for what the result says. A value that
    is cut off is never completed, and a number at the very end of the text counts as cut off. ``broken`` says that the
    value is known not to be valid JSON as it stands.
    """
    if broken:
        return TolerantReader(text, pos, keys).run()
    start = len(text) - len(text[pos:].lstrip()) if pos < len(text) and text[pos].isspace() else pos
    try:
        value, end = _scan(text, start)
    except (StopIteration, ValueError, RecursionError):
        return TolerantReader(text, pos, keys).run()
    if isinstance(value, dict | list):
        if _too_deep(text, start, end, value):
            return Reading(end=pos, fault="too_deep")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return TolerantReader(text, pos, keys).run()
    if text.startswith(_GLUED, end) and isinstance(value, dict | list):
        # Valid JSON by accident: an inner quote and a bracket of the content ended it early.
        longer = TolerantReader(text, pos, keys).run()
        if longer.complete and longer.end > end:
            return longer
    return Reading(value=value, end=end, complete=True, closed=True)


def _depth(value: object) -> int:
    level: list[Any] = [value]
    depth = 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        inner = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in inner if isinstance(child, dict | list)]
    return depth
