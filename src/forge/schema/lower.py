"""Schemas for constrained decoding: the union of the offered calls in what grammar compilers understand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from forge.core.request import Tool
from forge.schema.fit import fits_type
from forge.schema.understood import resolve_pointer
from forge.schema.validate import compile_schema

MAX_STRING = 4096
"""Longest text a constrained call may hold: past this a small model is repeating itself."""
MAX_ITEMS = 32
MAX_DEPTH = 12
_FORMATS = frozenset({"date", "date-time", "time", "uuid", "email", "ipv4", "ipv6"})
_LOOK_AROUND = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9bBAZzGkpP]")
_ANNOTATIONS = ("description", "title", "default", "examples")
_UNSUPPORTED = (
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "uniqueItems",
    "multipleOf",
    "minProperties",
    "maxProperties",
)
_SCALAR_BOUND = 10**15


class Lowered(Struct, frozen=True, kw_only=True):
    """``schema`` for a backend's constrained decoding; ``given_up`` what it does not enforce any more."""

    schema: dict[str, Any]
    given_up: tuple[str, ...] = ()


def call_schema(tools: Sequence[Tool]) -> Lowered:
    """The schema of one call of any of ``tools``: ``{"name": <tool>, "arguments": {…}}``.

    Local references are written out, members beyond the declared ones are forbidden, unbounded texts and lists
    get bounds (a small model otherwise runs on until its token limit), and what grammar compilers reject
    (look-around, exotic formats, conditionals) is dropped and reported: the full schema still decides after
    decoding. The top level is an ordinary dict, so that a client can add its engine's own options.
    """
    given_up: list[str] = []
    calls = [_call(tool, given_up) for tool in tools]
    schema = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return Lowered(schema=schema, given_up=tuple(dict.fromkeys(given_up)))


def _call(tool: Tool, given_up: list[str]) -> dict[str, Any]:
    compiled = compile_schema(tool.parameters)
    lowering = _Lowering(compiled.schema, tool.name)
    arguments = lowering.lower(compiled.schema, "", 0)
    if not isinstance(arguments, dict):
        arguments = {}
    arguments = _as_object(arguments)
    given_up.extend(f"{tool.name}: {note}" for note in (*compiled.notes, *lowering.given_up))
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _as_object(arguments: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in arguments and "type" not in arguments:
        return arguments
    arguments = {**arguments, "type": "object"}
    arguments.setdefault("properties", {})
    if not arguments["properties"] and "patternProperties" not in arguments:
        arguments.setdefault("additionalProperties", True)
    arguments.setdefault("additionalProperties", False)
    return arguments


class _Lowering:
    def __init__(self, root: dict[str, Any], tool: str) -> None:
        self.root, self.tool = root, tool
        self.given_up: list[str] = []
        self.open: list[str] = []  # references being written out

    def give_up(self, where: str, what: str) -> None:
        self.given_up.append(f"{where or '/'} {what}")

    def lower(self, schema: object, where: str, depth: int) -> Any:
        if not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        if depth > MAX_DEPTH:
            self.give_up(where, "nested too deep")
            return {}
        schema = self._conjoined(schema, where)
        for keyword in _UNSUPPORTED:
            if keyword in schema:
                self.give_up(where, keyword)
        if "const" in schema:
            return {"const": schema["const"]}
        if "enum" in schema:
            return {"enum": self._options(schema)}
        unions = [schema[keyword] for keyword in ("anyOf", "oneOf") if keyword in schema]
        if unions:
            return self._union(schema, unions, where, depth)
        return self._by_type(schema, where, depth)

    def _options(self, schema: Mapping[str, Any]) -> list[Any]:
        types = schema.get("type")
        wanted = [types] if isinstance(types, str) else types
        if not wanted:
            return list(schema["enum"])
        fitting = [option for option in schema["enum"] if fits_type(option, frozenset(wanted))]
        return fitting or list(schema["enum"])

    def _conjoined(self, schema: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        """The schema with its reference and ``allOf`` merged into it."""
        merged: dict[str, Any] = dict(schema)
        for _ in range(16):
            parts = list(merged.pop("allOf", ()))
            ref = merged.pop("$ref", None)
            if ref is not None:
                parts.append(resolve_pointer(self.root, ref))
            if not parts:
                break
            for part in parts:
                if isinstance(part, Mapping):
                    merged = _merge(merged, part, self, where)
        return merged

    def _union(self, schema: Mapping[str, Any], unions: list[list[Any]], where: str, depth: int) -> Any:
        if len(unions) > 1:
            self.give_up(where, "one of two unions")
        shared = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", *_ANNOTATIONS)}
        branches = []
        for one in unions[0]:
            if not isinstance(one, Mapping):
                continue
            merged = _merge(dict(shared), one, self, where) if shared else one
            branches.append(self.lower(merged, where, depth + 1))
        return branches[0] if len(branches) == 1 else {"anyOf": branches or [{}]}

    def _by_type(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any]:
        types = schema.get("type")
        if isinstance(types, list):
            lowered = [self._by_type({**schema, "type": one}, where, depth) for one in types]
            return lowered[0] if len(lowered) == 1 else {"anyOf": lowered}
        if types is None and ("properties" in schema or "required" in schema):
            types = "object"
        if types is None and ("items" in schema or "prefixItems" in schema):
            types = "array"
        match types:
            case "object":
                return self._object(schema, where, depth)
            case "array":
                return self._array(schema, where, depth)
            case "string":
                return self._string(schema, where)
            case "integer" | "number":
                return self._number(schema, str(types), where)
            case "boolean" | "null":
                return {"type": types}
            case _:
                return {}

    def _object(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any]:
        properties = {
            name: self.lower(node, f"{where}/{name}", depth + 1)
            for name, node in schema.get("properties", {}).items()
        }
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        for name in required:
            properties.setdefault(name, {})
        if "patternProperties" in schema:
            self.give_up(where, "patternProperties")
        lowered: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            lowered["required"] = required
        extra = schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            lowered["additionalProperties"] = self.lower(extra, f"{where}/*", depth + 1)
        elif not properties and extra is not False:
            lowered["additionalProperties"] = True
        else:
            lowered["additionalProperties"] = False
        return lowered

    def _array(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any]:
        lowered: dict[str, Any] = {"type": "array"}
        prefix = schema.get("prefixItems")
        if prefix:
            lowered["prefixItems"] = [
                self.lower(one, f"{where}/{i}", depth + 1) for i, one in enumerate(prefix)
            ]
        lowered["items"] = self.lower(schema.get("items", not prefix), f"{where}/*", depth + 1)
        least = min(schema.get("minItems", 0), MAX_ITEMS)
        if least:
            lowered["minItems"] = least
        lowered["maxItems"] = max(min(schema.get("maxItems", MAX_ITEMS), MAX_ITEMS), least)
        return lowered

    def _string(self, schema: Mapping[str, Any], where: str) -> dict[str, Any]:
        lowered: dict[str, Any] = {"type": "string"}
        pattern, form = schema.get("pattern"), schema.get("format")
        if pattern is not None and (_LOOK_AROUND.search(pattern) or not _compiles(pattern)):
            self.give_up(where, "pattern")
            pattern = None
        if form in _FORMATS:
            return {**lowered, "format": form}
        if form is not None:
            self.give_up(where, f"format {form[:40]}")
        if pattern is not None:
            return {**lowered, "pattern": pattern}
        least = min(schema.get("minLength", 0), MAX_STRING)
        if least:
            lowered["minLength"] = least
        lowered["maxLength"] = max(min(schema.get("maxLength", MAX_STRING), MAX_STRING), least)
        return lowered

    def _number(self, schema: Mapping[str, Any], types: str, where: str) -> dict[str, Any]:
        lowered: dict[str, Any] = {"type": types}
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            bound = schema.get(keyword)
            if bound is None:
                continue
            if abs(bound) <= _SCALAR_BOUND:
                lowered[keyword] = bound
            else:
                self.give_up(where, keyword)
        return lowered


def _merge(one: dict[str, Any], other: Mapping[str, Any], lowering: _Lowering, where: str) -> dict[str, Any]:
    """Both schemas in one, as far as that can be written down; the first wins where it cannot."""
    merged = dict(one)
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif keyword == "properties":
            merged[keyword] = {**value, **merged[keyword]}
        elif keyword == "required":
            merged[keyword] = list(dict.fromkeys([*merged[keyword], *value]))
        elif keyword == "allOf":
            merged[keyword] = [*merged[keyword], *value]
        elif keyword in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
            merged[keyword] = max(merged[keyword], value)
        elif keyword in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
            merged[keyword] = min(merged[keyword], value)
        elif keyword not in _ANNOTATIONS and merged[keyword] != value:
            lowering.give_up(where, f"second {keyword}")
    return merged


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return len(pattern) <= 500
