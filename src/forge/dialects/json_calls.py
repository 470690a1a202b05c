"""Which calls a JSON value holds, whatever keys and envelopes the model chose.

A call is a name that was offered and something that looks like its arguments; a ``name`` alone is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from forge.core.ledger import Fix
from forge.core.request import Tool
from forge.dialects.candidate import Found, Missed
from forge.dialects.json_unit import JsonUnit
from forge.dialects.toolbox import Toolbox

NAME_KEYS = (
    *("name", "tool", "tool_name", "toolName", "function", "function_name", "functionName", "recipient_name"),
    *("action", "api", "api_name", "method", "command", "recipient"),
)
ARGUMENT_KEYS = (
    *("arguments", "args", "parameters", "params", "input", "tool_input", "toolInput", "action_input"),
    *("actionInput", "kwargs", "tool_args", "function_args", "tool_arguments", "inputs", "param"),
)
LISTS = ("tool_calls", "tool_uses", "toolCalls", "calls", "function_calls", "functions", "tools", "actions")
WRAPPERS = (
    "function",
    "function_call",
    "tool_call",
    "toolCall",
    "functionCall",
    "command",
    "action",
    "tool_use",
    "tool",
    "call",
)
_WEAK_WRAPPERS = ("function", "command", "action", "tool", "call")
"""Words that data has as well."""
_ASIDE = frozenset(
    (
        *("id", "type", "tool_call_id", "call_id", "index", "tool_use_id", "status", "thought", "thoughts"),
        *("reasoning", "role", "content", "explanation", "reason", "thinking", "rationale", "analysis"),
    )
)
_SCHEMA_KEYS = frozenset(
    ("type", "properties", "required", "additionalProperties", "description", "title", "$schema")
)
_DEEPEST = 4


class Calls(Struct):
    """What a value holds. ``odd`` counts entries that are no call at all."""

    found: list[Found] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Strings where a call was expected: some models write calls as source text inside a list."""
    odd: int = 0


def calls_in(unit: JsonUnit, tools: Toolbox, *, marked: bool) -> Calls:
    """The calls in a value that was read.

    ``marked`` says that the notation around it promises a call: then a name without arguments is a call with
    none, and a call of an unknown tool is worth reporting whatever its shape.
    """
    plain = None if unit.open else plain_call(unit.value, tools, unit.fixes)
    if plain is not None:
        return Calls([plain])
    reader = _Reader(tools, _open_containers(unit), unit.fixes, marked=marked)
    reader.take(unit.value, 0)
    return reader.calls


def plain_call(value: object, tools: Toolbox, fixes: tuple[Fix, ...] = ()) -> Found | None:
    """The call in ``{"name": N, "arguments": {...}}``, the shape that nearly all have."""
    if not isinstance(value, dict) or len(value) != 2:
        return None
    name, raw = value.get("name"), value.get("arguments")
    tool = tools.get(name) if isinstance(name, str) and isinstance(raw, dict) else None
    if tool is None or not raw.keys() <= tools.parameters(tool).keys():  # type: ignore[union-attr]
        return None
    return Found(tool, raw, fixes=fixes)


def _open_containers(unit: JsonUnit) -> list[object]:
    """The containers that the text left open, outermost first: nothing in the innermost is certain."""
    found: list[object] = []
    value = unit.value
    while len(found) < unit.open and isinstance(value, dict | list) and value:
        found.append(value)
        value = value[-1] if isinstance(value, list) else next(reversed(value.values()))
    return found


class _Reader:
    def __init__(self, tools: Toolbox, unsure: list[object], fixes: tuple[Fix, ...], *, marked: bool) -> None:
        self.tools = tools
        self.unsure = unsure
        self.fixes = fixes
        self.marked = marked
        self.calls = Calls()

    def take(self, value: object, depth: int) -> None:
        if isinstance(value, list) and depth < _DEEPEST:
            for entry in value:
                self.take(entry, depth + 1)
        elif isinstance(value, dict):
            if not self._call(value) and not self._envelope(value, depth):
                self._unknown(value)
        elif isinstance(value, str) and value:
            self.calls.texts.append(value)
        elif value is not None:
            self.calls.odd += 1

    def _envelope(self, value: Mapping[str, Any], depth: int) -> bool:
        if depth >= _DEEPEST:
            return False
        for key in LISTS:
            entries = value.get(key)
            if isinstance(entries, list) and (entries or len(value) == 1):
                before = len(self.calls.found) + len(self.calls.missed)
                self.take(entries, depth + 1)
                if len(self.calls.found) + len(self.calls.missed) > before or not entries:
                    return True
        for key in WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, dict) and inner:
                if key in _WEAK_WRAPPERS and not self.marked and value.keys() - {key} - _ASIDE:
                    return False  # a record that has such a member
                before = len(self.calls.found) + len(self.calls.missed)
                self.take(inner, depth + 1)
                return len(self.calls.found) + len(self.calls.missed) > before
        return False

    def _call(self, value: dict[str, Any]) -> bool:
        return self._named(value) or self._short(value)

    def _named(self, value: dict[str, Any]) -> bool:
        arguments = [key for key in ARGUMENT_KEYS if key in value]
        for key in NAME_KEYS:
            written = value.get(key)
            if not isinstance(written, str):
                continue
            tool = self.tools.get(written)
            if tool is None:
                continue
            own = [name for name in arguments if name != key]
            if own:
                # A call whose own parameters include such a word is flat: {"tool": N, "input": 1, "other": 2}.
                declared = self.tools.parameters(tool)
                rest = [k for k in value if k != key and k not in _ASIDE]
                flat = (
                    len(rest) > 1 and all(k in declared for k in rest) and value[own[0]].__class__ is not dict
                )
                if flat:
                    return self._flat(value, key, tool)
                if self._schema_echo(value[own[0]], tool):
                    return False
                return self._add(value, tool, value[own[0]])
            return self._flat(value, key, tool)
        return False

    def _schema_echo(self, raw: object, tool: Tool) -> bool:
        """The tool's own description printed back."""
        if not isinstance(raw, dict):
            return False
        declared = self.tools.parameters(tool)
        bare = raw.get("type") == "object" and "type" not in declared and raw.keys() <= _SCHEMA_KEYS
        return bare or (isinstance(raw.get("properties"), dict) and "properties" not in declared)

    def _flat(self, value: dict[str, Any], key: str, tool: Tool) -> bool:
        """Arguments beside the name, or none at all."""
        declared = self.tools.parameters(tool)
        rest = {k: v for k, v in value.items() if k != key and (k in declared or k not in _ASIDE)}
        if any(value is container for container in self.unsure):
            self.calls.missed.append(Missed("cut_off", tool.name))
            return True
        known = [k for k in rest if k in declared]
        if rest and len(known) < len(rest) and not (self.marked and known):
            return False
        if not rest and not self.marked and self.tools.required(tool):
            return False
        return self._add(value, tool, rest)

    def _short(self, value: dict[str, Any]) -> bool:
        """{"N": {arguments}}, perhaps with several such members."""
        tools = {key: self.tools.get(key) for key in value}
        if not value or any(tool is None for tool in tools.values()):
            return False
        if not all(v is None or isinstance(v, dict | str) or v == [] for v in value.values()):
            return False
        if not self.marked and not all(self._fits(tools[key], raw) for key, raw in value.items()):
            return False
        for key, raw in value.items():
            tool = tools[key]
            assert tool is not None
            self._add(value, tool, raw)
        return True

    def _fits(self, tool: Tool | None, raw: object) -> bool:
        """Whether ``raw`` looks like arguments of ``tool`` although nothing but its name says that they are."""
        if tool is None or not isinstance(raw, dict):
            return False
        required = self.tools.required(tool)
        return raw.keys() <= self.tools.parameters(tool).keys() or (
            required != () and raw.keys() >= set(required)
        )

    def _add(self, value: object, tool: Tool, raw: object) -> bool:
        whole = isinstance(raw, dict | list) or (isinstance(raw, str) and raw.lstrip()[:1] in ("{", "["))
        if any(raw is container for container in self.unsure) or (
            not whole and any(value is container for container in self.unsure)
        ):
            self.calls.missed.append(Missed("cut_off", tool.name))
        else:
            self.calls.found.append(Found(tool, self._lone(tool, raw), fixes=self.fixes))
        return True

    def _lone(self, tool: Tool, raw: object) -> object:
        """Plain text as arguments is the value of the only parameter that it can be."""
        if not isinstance(raw, str) or not raw.strip() or raw.lstrip()[0] in "{[\"'":
            return raw
        required = self.tools.required(tool)
        declared = self.tools.parameters(tool)
        if len(required) == 1 or (not required and len(declared) == 1):
            return {required[0] if required else next(iter(declared)): raw}
        return raw

    def _unknown(self, value: dict[str, Any]) -> None:
        """A call's shape around a name that was not offered."""
        arguments = [value[key] for key in ARGUMENT_KEYS if key in value]
        if arguments and isinstance(arguments[0], dict | str | None):
            for key in NAME_KEYS:
                written = value.get(key)
                if isinstance(written, str) and self.tools.get(written) is None and written:
                    if isinstance(arguments[0], dict) and isinstance(arguments[0].get("properties"), dict):
                        break
                    self.calls.missed.append(Missed("unknown_tool", written))
                    return
        self.calls.odd += 1
