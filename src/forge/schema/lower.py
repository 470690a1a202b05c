"""Schemas for constrained decoding: the union of the offered calls in what grammar compilers understand.

What compilers take differs: llama.cpp's own converter knows no patterns beyond simple ones and refuses boolean
subschemas, LLGuidance knows most of JSON Schema, vLLM's XGrammar lies between. What is written here was tried on
llama-server with both of its compilers; everything else is given up, and said so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from forge.core.request import Tool
from forge.schema.bounded import (
    LONG_TEXT,
    MAX_ITEMS,
    MAX_MEMBERS,
    SHORT_TEXT,
    any_scalar,
    anything,
    bounded_number,
    bounded_text,
    with_short_texts,
)
from forge.schema.fit import fits_type
from forge.schema.merge import merge
from forge.schema.understood import resolve_pointer
from forge.schema.validate import compile_schema

MAX_DEPTH = 12
MAX_NODES = 2000
"""Subschemas written out for one tool; a recursive schema is cut off where it would exceed this."""

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
    "minProperties",
    "maxProperties",
)
OWN_LIMIT = "x-own-limit"
"""Marks, in :func:`arguments_bounds`, a text or list whose limit is the schema's own."""

__all__ = ["OWN_LIMIT", "Lowered", "arguments_bounds", "call_schema"]


class Lowered(Struct, frozen=True, kw_only=True):
    """``schema`` for a backend's constrained decoding; ``given_up`` what it does not enforce any more."""

    schema: dict[str, Any]
    given_up: tuple[str, ...] = ()


def call_schema(tools: Sequence[Tool], *, longest_text: int | None = None) -> Lowered:
    """The schema of one call of any of ``tools``: ``{"name": <tool>, "arguments": {…}}``.

    Local references are written out, members beyond the declared ones are forbidden, unbounded texts, lists and
    integers get bounds (a small model otherwise runs on until its token limit;
    :func:`forge.schema.filled.fills_a_bound` tells afterwards whether such a bound cut something off), and what compilers reject (look-around, exotic formats,
    conditionals) is dropped and reported: the full schema still decides after decoding. The top level is an
    ordinary dict, so that a client can add its engine's own options, such as LLGuidance's
    ``"x-guidance": {"whitespace_flexible": False}``.

    ``longest_text``: another bound on all texts, in characters, where the schema asks for no other: a tighter one, or a
    wider one (at most :data:`~forge.schema.bounded.LONG_TEXT`) for an answer that outgrew the usual bound.
    """
    given_up: list[str] = []
    calls = [_call(tool, given_up, _short_text(longest_text)) for tool in tools]
    schema = calls[0] if len(calls) == 1 else {"anyOf": calls}
    if longest_text is not None:
        schema = with_short_texts(schema, longest_text)
    return Lowered(schema=schema, given_up=tuple(dict.fromkeys(given_up)))


def arguments_bounds(tool: Tool, *, longest_text: int | None = None) -> dict[str, Any] | None:
    """What :func:`call_schema` makes of a tool's parameters, with those limits marked that the tool set itself."""
    compiled = compile_schema(tool.parameters)
    lowering = _Lowering(compiled.schema, mark=True, short_text=_short_text(longest_text))
    return lowering.lower({**compiled.schema, "type": "object"}, "", 0)


def _short_text(longest_text: int | None) -> int:
    return max(SHORT_TEXT, min(longest_text or 0, LONG_TEXT))


def _call(tool: Tool, given_up: list[str], short_text: int) -> dict[str, Any]:
    compiled = compile_schema(tool.parameters)
    lowering = _Lowering(compiled.schema, short_text=short_text)
    arguments = lowering.lower({**compiled.schema, "type": "object"}, "", 0)
    if arguments is None:
        arguments = {"type": "object", "properties": {}, "additionalProperties": False}
    given_up.extend(f"{tool.name}: {note}" for note in (*compiled.notes, *lowering.given_up))
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


class _Lowering:
    """``lower`` gives None for a subschema that cannot be written out any more; its holder does without it."""

    def __init__(self, root: dict[str, Any], *, short_text: int, mark: bool = False) -> None:
        self.root = root
        self._short_text = short_text
        self._mark = mark
        self.given_up: list[str] = []
        self.open: list[str] = []  # references being written out
        self.nodes = 0

    def give_up(self, where: str, what: str) -> None:
        if len(self.given_up) < 50:
            self.given_up.append(f"{where or '/'} {what}")

    def lower(self, schema: object, where: str, depth: int) -> dict[str, Any] | None:
        if schema is False:
            return None
        if not isinstance(schema, Mapping):
            return anything()
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            self.give_up("", "deepest part of the schema")
            return None
        conjoined, refs = self._conjoined(schema, where)
        if any(self.open.count(ref) >= 2 for ref in refs):
            self.give_up("", "recursion beyond two levels")
            return None
        self.open.extend(refs)
        lowered = self._conjoined_lower(conjoined, where, depth)
        del self.open[len(self.open) - len(refs) :]
        return lowered

    def _conjoined_lower(self, schema: dict[str, Any], where: str, depth: int) -> dict[str, Any] | None:
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

    def _conjoined(self, schema: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[str]]:
        """The schema with its reference and ``allOf`` merged into it, and the references that were followed."""
        merged: dict[str, Any] = dict(schema)
        refs: list[str] = []
        for _ in range(16):
            parts = list(merged.pop("allOf", ()))
            ref = merged.pop("$ref", None)
            if ref is not None and ref not in refs:
                refs.append(ref)
                parts.append(resolve_pointer(self.root, ref))
            if not parts:
                break
            for part in parts:
                if isinstance(part, Mapping):
                    merged, conflicts = merge(merged, part)
                    for keyword in conflicts:
                        self.give_up(where, f"second {keyword}")
        return merged, refs

    def _union(
        self, schema: Mapping[str, Any], unions: list[list[Any]], where: str, depth: int
    ) -> dict[str, Any] | None:
        if len(unions) > 1:
            self.give_up(where, "one of two unions")
        shared = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", *_ANNOTATIONS)}
        branches: list[dict[str, Any]] = []
        for one in unions[0]:
            whole = merge(dict(shared), one)[0] if shared and isinstance(one, Mapping) else one
            lowered = self.lower(whole, where, depth + 1)
            if lowered is not None:
                branches.extend(lowered["anyOf"] if set(lowered) == {"anyOf"} else [lowered])
        return {"anyOf": branches} if len(branches) > 1 else branches[0] if branches else None

    def _by_type(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any] | None:
        types = schema.get("type")
        if isinstance(types, list):
            lowered = [self._by_type({**schema, "type": one}, where, depth) for one in types]
            branches = [one for one in lowered if one is not None]
            return {"anyOf": branches} if len(branches) > 1 else branches[0] if branches else None
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
                text = self._scalar(bounded_text(schema, where.rpartition("/")[2], self._short_text), where)
                return self._marked(text, own=schema.get("maxLength", math.inf) == text["maxLength"])
            case "integer" | "number":
                return self._scalar(bounded_number(schema, str(types)), where)
            case "boolean" | "null":
                return {"type": types}
            case _:
                return anything()

    def _marked(self, node: dict[str, Any], *, own: bool) -> dict[str, Any]:
        return {**node, OWN_LIMIT: True} if self._mark and own else node

    def _scalar(self, bounded: tuple[dict[str, Any], list[str]], where: str) -> dict[str, Any]:
        for what in bounded[1]:
            self.give_up(where, what)
        return bounded[0]

    def _object(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any] | None:
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        declared = {**schema.get("properties", {})}
        for name in required:
            declared.setdefault(name, {})
        properties: dict[str, Any] = {}
        for name, node in declared.items():
            lowered = self.lower(node, f"{where}/{name}", depth + 1)
            if lowered is not None:
                properties[name] = lowered
            elif name in required:
                return None
        result: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            result["required"] = required
        result["additionalProperties"] = self._further_members(schema, where, depth) or False
        if not declared and result["additionalProperties"]:
            result["maxProperties"] = max(min(schema.get("maxProperties", MAX_MEMBERS), MAX_MEMBERS), 1)
        return result

    def _further_members(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any] | None:
        """What members that are not declared may hold, None when there must be none."""
        extra = schema.get("additionalProperties")
        patterns = schema.get("patternProperties")
        if patterns:
            self.give_up(where, "patternProperties")
            if not isinstance(extra, Mapping):
                extra = next(iter(patterns.values()))
        if isinstance(extra, Mapping) and extra:
            return self.lower(extra, f"{where}/*", depth + 1)
        undescribed = (
            not schema.get("properties") and not schema.get("required") and extra is not False and depth > 0
        )
        return any_scalar() if undescribed else None

    def _array(self, schema: Mapping[str, Any], where: str, depth: int) -> dict[str, Any] | None:
        result: dict[str, Any] = {"type": "array"}
        least = min(schema.get("minItems", 0), MAX_ITEMS)
        most = max(min(schema.get("maxItems", MAX_ITEMS), MAX_ITEMS), least)
        prefix = [
            self.lower(one, f"{where}/{i}", depth + 1) for i, one in enumerate(schema.get("prefixItems", ()))
        ]
        items = (
            None
            if prefix and "items" not in schema
            else self.lower(schema.get("items", {}), f"{where}/*", depth + 1)
        )
        if prefix:
            whole = [one for one in prefix if one is not None]
            result["prefixItems"] = whole
            least = max(least, len(whole)) if len(whole) == len(prefix) else least
            most = max(most, least) if items else len(whole)
        elif items is None:
            most = 0
        if least > most:
            return None
        if items:
            result["items"] = items
        if least:
            result["minItems"] = least
        result["maxItems"] = most
        return self._marked(result, own=schema.get("maxItems") == most or "items" not in result)
