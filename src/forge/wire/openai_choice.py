"""``tool_choice`` of chat completions, both ways."""

from __future__ import annotations

from typing import Any

from forge.core.request import Tool, ToolChoice
from forge.errors import RequestError
from forge.wire.json_text import loads

_MODES = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


def read_choice(data: bytes, tools: tuple[Tool, ...]) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """The choice, and which of ``tools`` it leaves to choose among: a choice of ``allowed_tools`` offers only those.

    Raises:
        RequestError: it is no choice, or demands a call and allows none of the tools.
    """
    choice = loads(data)
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice]), tools
    if isinstance(choice, dict):
        kind = choice.get("type")
        if isinstance(kind, str) and kind in _MODES:
            return ToolChoice(_MODES[kind]), tools
        inner = choice.get(kind) if isinstance(kind, str) else None
        if kind == "allowed_tools" and isinstance(inner, dict):
            return _allowed(inner, tools)
        name = _name(choice)
        if name is not None:
            return ToolChoice("named", name), tools
    raise RequestError('\'tool_choice\' must be "auto", "none", "required" or name a function', "tool_choice")


def _allowed(allowed: dict[str, Any], tools: tuple[Tool, ...]) -> tuple[ToolChoice, tuple[Tool, ...]]:
    where = "tool_choice.allowed_tools"
    mode, entries = allowed.get("mode"), allowed.get("tools")
    if not isinstance(mode, str) or mode not in _MODES:
        raise RequestError(f'\'{where}.mode\' must be "auto" or "required"', f"{where}.mode")
    if not isinstance(entries, list):
        raise RequestError(f"'{where}.tools' must be a list", f"{where}.tools")
    names = {_name(entry) for entry in entries if isinstance(entry, dict)}
    left = tuple(tool for tool in tools if tool.name in names)
    if _MODES[mode] == "required" and tools and not left:
        raise RequestError(
            f"'{where}.tools' allows none of the tools, and a call is demanded", f"{where}.tools"
        )
    return ToolChoice(_MODES[mode]), left


def _name(entry: dict[str, Any]) -> str | None:
    """The name of a tool, in the object that is named by its type or beside it."""
    kind = entry.get("type")
    inner = entry.get(kind) if isinstance(kind, str) else None
    for holder in (inner, entry):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return None


def write_choice(choice: ToolChoice, tools: tuple[Tool, ...]) -> Any:
    """The value of the field. A tool of another kind than a function is named as one of its kind."""
    if choice.mode != "named":
        return choice.mode
    kind = next((tool.kind for tool in tools if tool.name == choice.name), "function")
    return {"type": kind, kind: {"name": choice.name}}
