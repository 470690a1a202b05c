"""Was a constrained answer cut off by a bound that only its lowering set?

Such an answer looks whole: the grammar closes the text and the object. But a text that is exactly as long as a bound
of ours allows most likely wanted to go on, and executing half of it (a file, a patch) does harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forge.core.request import Tool
from forge.schema.lower import OWN_LIMIT, arguments_bounds

_TYPES: Mapping[type, str] = {str: "string", list: "array", dict: "object"}


def fills_a_bound(tool: Tool, arguments: object, *, longest_text: int | None = None) -> bool:
    """Whether a text or list of ``arguments`` is exactly as long as a bound allows that the tool's schema did not set.

    Args:
        tool: whose arguments they are.
        arguments: decoded.
        longest_text: the bound that :func:`~forge.schema.lower.call_schema` was given.
    """
    bounds = arguments_bounds(tool, longest_text=longest_text)
    return bounds is not None and _filled(bounds, arguments, longest_text)


def _filled(schema: Mapping[str, Any], value: object, longest: int | None) -> bool:
    """True when it is so in every alternative of the schema that the value can stand for."""
    fitting = [branch for branch in _alternatives(schema) if _takes(branch, value)]
    return bool(fitting) and all(_filled_branch(branch, value, longest) for branch in fitting)


def _filled_branch(branch: Mapping[str, Any], value: object, longest: int | None) -> bool:
    if "const" in branch or "enum" in branch:
        return False
    if isinstance(value, str):
        return _text_filled(branch, value, longest)
    if isinstance(value, list):
        full = OWN_LIMIT not in branch and len(value) == branch.get("maxItems")
        return full or any(_filled(_item(branch, i), one, longest) for i, one in enumerate(value))
    if isinstance(value, dict):
        return any(_filled(_member(branch, name), one, longest) for name, one in value.items())
    return False


def _text_filled(branch: Mapping[str, Any], text: str, longest: int | None) -> bool:
    limit = branch.get("maxLength")
    if limit is None:
        return False
    ours = OWN_LIMIT not in branch
    if longest is not None and longest < limit:
        limit, ours = max(longest, branch.get("minLength", 0)), True
    return ours and len(text) == limit


def _takes(branch: Mapping[str, Any], value: object) -> bool:
    if "const" in branch:
        return bool(branch["const"] == value)
    if "enum" in branch:
        return value in branch["enum"]
    if branch.get("type") != _TYPES.get(type(value)):
        return False
    if not isinstance(value, dict):
        return True
    return all(_known(branch, name, one) for name, one in value.items())


def _known(branch: Mapping[str, Any], name: str, value: object) -> bool:
    """Whether a member may stand in an object, by its name and, where that tells alternatives apart, its value."""
    choices = [one for one in _alternatives(_member(branch, name)) if "const" in one or "enum" in one]
    declared = name in branch.get("properties", {}) or bool(branch.get("additionalProperties"))
    if not declared or not choices:
        return declared
    others = len(choices) < sum(1 for _ in _alternatives(_member(branch, name)))
    return others or any(_takes(one, value) for one in choices)


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "anyOf" not in schema:
        yield schema
    for branch in schema.get("anyOf", ()):
        yield from _alternatives(branch)


def _member(branch: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    extra = branch.get("additionalProperties") or {}
    found: Mapping[str, Any] = branch.get("properties", {}).get(name, extra)
    return found


def _item(branch: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    prefix = branch.get("prefixItems", ())
    found: Mapping[str, Any] = prefix[index] if index < len(prefix) else branch.get("items", {})
    return found
