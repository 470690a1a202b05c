"""Workflow rules as people write them: tables in a TOML file or a profile, an object in a request."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from forge.engine.workflow_rules import Prerequisite, WorkflowRules
from forge.proxy.settings import SettingsError

TABLES: Final = "workflows"
"""The name of the tables, in a file and in a profile."""
_NAMES: Final = ("tools", "required_steps", "terminal_tools")
_KEYS: Final = ("name", *_NAMES, "prerequisites")
_MOST_BYTES: Final = 1024 * 1024


class WorkflowError(SettingsError):
    """Rules that cannot be; ``where`` is the key at fault, as a path."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"'{where}' {problem}")
        self.where = where


def read_workflows(value: Any, where: str = TABLES) -> tuple[WorkflowRules, ...]:
    """The rules in decoded TOML or JSON: one object, or a list of them.

    Raises:
        WorkflowError: with the path of the key at fault, which begins with ``where``.
    """
    if isinstance(value, Mapping):
        return (_rules(value, where),)
    if not isinstance(value, list):
        raise WorkflowError(where, "must be an object, or a list of objects")
    rules = tuple(_rules(entry, f"{where}[{number}]") for number, entry in enumerate(value))
    seen: set[str] = set()
    for number, each in enumerate(rules):
        if each.name and each.name in seen:
            raise WorkflowError(f"{where}[{number}].name", f"repeats {each.name!r}")
        seen.add(each.name)
    return rules


def load_workflows(path: Path) -> tuple[WorkflowRules, ...]:
    """The rules in a TOML file of ``[[workflows]]`` tables.

    Raises:
        SettingsError: the file cannot be read or holds something else; names the file, the line and the key.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"workflow file {path} has more than {_MOST_BYTES} bytes")
        text = data.decode()
        document = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"cannot read workflow file {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"workflow file {path} is no TOML document: {error}") from error
    try:
        return _document(document)
    except WorkflowError as error:
        line = _line_of(text, error.where)
        place = f"{path}, line {line}" if line else str(path)
        raise SettingsError(f"workflow file {place}: {error}") from error


def _document(document: Mapping[str, Any]) -> tuple[WorkflowRules, ...]:
    unknown = next((key for key in document if key != TABLES), None)
    if unknown is not None:
        raise WorkflowError(unknown, f"is not known here: rules stand in [[{TABLES}]] tables")
    if not document.get(TABLES):
        raise WorkflowError(TABLES, "is missing: there are no rules")
    return read_workflows(document[TABLES])


def _rules(value: Any, where: str) -> WorkflowRules:
    if not isinstance(value, Mapping):
        raise WorkflowError(where, "must be an object")
    for key in value:
        if key not in _KEYS:
            raise WorkflowError(f"{where}.{key}", f"is not known here; known are: {', '.join(_KEYS)}")
    name = value.get("name", "")
    if not isinstance(name, str):
        raise WorkflowError(f"{where}.name", "must be a string")
    rules = WorkflowRules(
        name=name,
        **{key: _names(value.get(key, []), f"{where}.{key}") for key in _NAMES},
        prerequisites=_prerequisites(value.get("prerequisites", {}), f"{where}.prerequisites"),
    )
    _fits_together(rules, where)
    return rules


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise WorkflowError(where, "must be a list of names of tools")
    return tuple(dict.fromkeys(value))


def _prerequisites(value: Any, where: str) -> dict[str, tuple[Prerequisite, ...]]:
    if not isinstance(value, Mapping):
        raise WorkflowError(where, "must map a tool's name to what must succeed before it")
    return {tool: _entries(entries, f"{where}.{tool}") for tool, entries in value.items()}


def _entries(value: Any, where: str) -> tuple[Prerequisite, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(_entry(entry, where) for entry in entries)


def _entry(entry: Any, where: str) -> Prerequisite:
    if isinstance(entry, str) and entry:
        return entry
    if (
        isinstance(entry, Mapping)
        and isinstance(entry.get("tool"), str)
        and all(
            key in ("tool", "match_arg") and isinstance(item, str) and item for key, item in entry.items()
        )
    ):
        return dict(entry)
    raise WorkflowError(where, 'must hold names of tools, or { tool = "X", match_arg = "A" }')


def _fits_together(rules: WorkflowRules, where: str) -> None:
    if not rules.named:
        raise WorkflowError(where, "rules nothing: give required_steps, terminal_tools or prerequisites")
    if rules.terminal_tools and not rules.required_steps:
        raise WorkflowError(f"{where}.terminal_tools", "means nothing without required_steps")
    both = sorted(set(rules.terminal_tools).intersection(rules.required_steps))
    if both:
        raise WorkflowError(f"{where}.terminal_tools", f"holds {both[0]!r}, which is a required step as well")
    missing = sorted(rules.named.difference(rules.tools)) if rules.tools else []
    if missing:
        raise WorkflowError(f"{where}.tools", f"lacks {missing[0]!r}, which the rules name")
    _no_circle(rules, where)


def _no_circle(rules: WorkflowRules, where: str) -> None:
    """Refuse tools that wait for each other: none of them could ever be called."""
    waiting = {
        tool: {entry if isinstance(entry, str) else entry["tool"] for entry in entries}
        for tool, entries in rules.prerequisites.items()
    }
    while waiting:
        free = [tool for tool, needed in waiting.items() if not needed.intersection(waiting)]
        if not free:
            tools = ", ".join(sorted(waiting))
            raise WorkflowError(
                f"{where}.prerequisites", f"go in a circle, so none of these can be called: {tools}"
            )
        for tool in free:
            del waiting[tool]


def _line_of(text: str, where: str) -> int | None:
    """The line on which a key stands, as far as that can be told from its path."""
    number = re.match(rf"{TABLES}\[(\d+)\]", where)
    starts = [match.start() for match in re.finditer(rf"^[ \t]*\[\[\s*{TABLES}\s*\]\]", text, re.MULTILINE)]
    start = starts[int(number[1])] if number and int(number[1]) < len(starts) else 0
    key = re.escape(where.rpartition(".")[2])
    found = re.compile(rf"^[ \t]*(?:\[+[^\]]*)?[\"']?{key}\b", re.MULTILINE).search(text, start)
    if found is None and not number:
        return None
    return text.count("\n", 0, found.start() if found else start) + 1
