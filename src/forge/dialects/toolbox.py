"""The offered tools as a reader needs them: names to resolve, words that may still become one, keys to expect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forge.core.request import Tool
from forge.schema.names import resolve_name
from forge.schema.spec import as_tools
from forge.schema.validate import CompiledSchema, compile_schema

LONGEST_NAME = 128
"""A longer word is no tool name."""

CALL_KEYS = frozenset(
    (
        *("name", "tool", "tool_name", "toolName", "function", "function_name", "functionName", "action"),
        *("recipient_name", "arguments", "args", "parameters", "params", "input", "tool_input", "toolInput"),
        *("action_input", "actionInput", "kwargs", "tool_calls", "tool_call", "tool_uses", "function_call"),
        *(
            "command",
            "id",
            "type",
            "tool_call_id",
            "call_id",
            "index",
            "role",
            "content",
            "calls",
            "thoughts",
        ),
    )
)
_PREFIXES = (
    "functions.",
    "function.",
    "tools.",
    "tool.",
    "default_api.",
    "default_api:",
    "functions:",
    "tools:",
)
_FLAT = re.compile(r"[\W_]+")


def flat(name: str) -> str:
    """A name without case and separators."""
    return _FLAT.sub("", name).casefold()


class Toolbox:
    """What was offered. Immutable; shared by every scanner of one request."""

    def __init__(self, tools: Iterable[object] | None) -> None:
        self.tools: dict[str, Tool] = {}
        for tool in as_tools(tools):
            self.tools.setdefault(tool.name, tool)
        self._names = tuple(self.tools)
        self._flat = tuple({flat(name) for name in self._names})
        self._resolved: dict[str, Tool | None] = {}
        self._awaited: dict[str, bool] = {}
        self._compiled: dict[str, CompiledSchema] = {}
        self.keys = (
            CALL_KEYS
            | frozenset(key for tool in self.tools.values() for key in _property_names(tool.parameters))
            | frozenset(self._names)
        )

    def get(self, written: str) -> Tool | None:
        """The tool that a model means by ``written``: the exact name or the one safe normalisation of it."""
        exact = self.tools.get(written)
        if exact is not None or not written or len(written) > LONGEST_NAME:
            return exact
        if written not in self._resolved:
            if len(self._resolved) > 4096:
                self._resolved.clear()
            name = resolve_name(written, self._names)
            self._resolved[written] = None if name is None else self.tools[name]
        return self._resolved[written]

    def awaits(self, word: str) -> bool:
        """Whether ``word`` may be the beginning of an offered name as models write it, or such a name whole."""
        known = self._awaited.get(word)
        if known is None:
            if len(self._awaited) > 4096:
                self._awaited.clear()
            known = self._awaited[word] = len(word) <= LONGEST_NAME and self._may_become(word)
        return known

    def _may_become(self, word: str) -> bool:
        if any(prefix.startswith(word) for prefix in _PREFIXES):
            return True
        for prefix in _PREFIXES:
            word = word.removeprefix(prefix)
        short = flat(word)
        return any(name.startswith(short) or (short.startswith(name) and ":" in word) for name in self._flat)

    def compiled(self, tool: Tool) -> CompiledSchema:
        """The compiled schema of an offered tool's arguments."""
        known = self._compiled.get(tool.name)
        if known is None:
            known = self._compiled[tool.name] = compile_schema(tool.parameters)
        return known

    def parameters(self, tool: Tool) -> Mapping[str, Any]:
        """The declared parameters of ``tool``."""
        properties = tool.parameters.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    def required(self, tool: Tool) -> tuple[str, ...]:
        """The names of its required parameters."""
        required = tool.parameters.get("required")
        return tuple(key for key in required if isinstance(key, str)) if isinstance(required, list) else ()


def _property_names(schema: object, depth: int = 0) -> Iterator[str]:
    if depth > 8:
        return
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, Mapping):
                yield from (name for name in value if isinstance(name, str))
            yield from _property_names(value, depth + 1)
    elif isinstance(schema, list):
        for value in schema:
            yield from _property_names(value, depth + 1)
