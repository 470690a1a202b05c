"""From whatever a caller calls a schema to a well-formed JSON Schema (draft 2020-12, local references only)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

MAX_DEPTH = 64
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
# What people write for types when they think in their programming language.
_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "map": "object",
    "none": "null",
    "nonetype": "null",
}
_ANY_TYPE = frozenset({"any", "mixed", "unknown", "file"})
# Formats that a program on the other side parses. The others (hostname, regex, ...) only annotate.
ENFORCED_FORMATS = frozenset({"date", "date-time", "time", "uuid", "email", "ipv4", "ipv6", "uri"})


class Understood(Struct, frozen=True):
    """``schema`` is safe to compile; ``notes`` tell what of the original was not understood and is not checked."""

    schema: dict[str, Any]
    notes: tuple[str, ...] = ()


def understand(schema: object) -> Understood:
    """Keep of ``schema`` what has a meaning in draft 2020-12, translate older spellings, drop the rest.

    Nothing is ever fetched: a ``$ref`` that is not a JSON pointer into the schema itself is dropped.
    """
    reader = _SchemaReader()
    tree = reader.schema(schema, "", 0)
    root = tree if isinstance(tree, dict) else {}
    _drop_dangling(root, reader.refs, reader.notes)
    return Understood(root, tuple(dict.fromkeys(reader.notes))[:20])


def resolve_pointer(root: object, ref: str) -> Any:
    """The subschema that a local reference (``#`` or ``#/…``) names, None when there is none."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    node = root
    for token in _unquote(ref[2:]).split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdigit() and len(key) < 7 and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _unquote(text: str) -> str:
    return re.sub(r"%([0-7][0-9a-fA-F])", lambda match: chr(int(match[1], 16)), text)


def _drop_dangling(root: dict[str, Any], holders: list[dict[str, Any]], notes: list[str]) -> None:
    dangling = [
        holder for holder in holders if not isinstance(resolve_pointer(root, holder["$ref"]), dict | bool)
    ]
    notes.extend(f"$ref {holder.pop('$ref')[:80]!r} names nothing in the schema" for holder in dangling)


_DROPPED = object()
"""A keyword's value that was left out, with a note of its own."""

_Reader = Callable[["_SchemaReader", Any, str, int], Any]


class _SchemaReader:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.refs: list[dict[str, Any]] = []

    def note(self, where: str, what: str) -> None:
        if len(self.notes) < 50:
            self.notes.append(f"{where or '/'}: {what}")

    def schema(self, node: object, where: str, depth: int) -> dict[str, Any] | bool:
        if isinstance(node, bool):
            return node
        if not isinstance(node, Mapping):
            self.note(where, "not a schema")
            return {}
        if depth >= MAX_DEPTH:
            self.note(where, "nested too deep")
            return {}
        result: dict[str, Any] = {}
        for keyword, value in node.items():
            read = _KEYWORDS.get(keyword) if isinstance(keyword, str) else None
            if read is None:
                continue
            kept = read(self, value, f"{where}/{keyword}", depth + 1)
            if kept is _DROPPED:
                continue
            if kept is None:
                self.note(where, f"{keyword} is malformed")
            else:
                result[keyword] = kept
        self._translate(node, result)
        if "$ref" in result:
            self.refs.append(result)
        return result

    def _translate(self, node: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Older and neighbouring spellings: draft 3 ``required``, draft 4 bounds, draft 7 tuples, OpenAPI null."""
        items = result.get("items")
        if isinstance(items, list):
            result.pop("items")
            result["prefixItems"] = items
            if isinstance(rest := node.get("additionalItems"), bool | Mapping):
                result["items"] = self.schema(rest, "", MAX_DEPTH - 1)
        for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(result.get(bound), bool) and result.pop(bound) and limit in result:
                result[bound] = result.pop(limit)
        marked = [
            name for name, prop in _pairs(node.get("properties")) if _pairs_get(prop, "required") is True
        ]
        if marked:
            result["required"] = list(dict.fromkeys([*result.get("required", []), *marked]))
        if node.get("nullable") is True and "type" in result:
            types = result["type"] if isinstance(result["type"], list) else [result["type"]]
            result["type"] = list(dict.fromkeys([*types, "null"]))
            if "enum" in result and None not in result["enum"]:
                result["enum"] = [*result["enum"], None]


def _pairs(node: object) -> list[tuple[Any, Any]]:
    return list(node.items()) if isinstance(node, Mapping) else []


def _pairs_get(node: object, key: str) -> object:
    return node.get(key) if isinstance(node, Mapping) else None


def _subschema(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    return reader.schema(value, where, depth) if isinstance(value, bool | Mapping) else None


def _items(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    if isinstance(value, list | tuple):
        return _list(reader, value, where, depth)
    return _subschema(reader, value, where, depth)


def _map(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, Mapping):
        return None
    return {
        name: reader.schema(node, f"{where}/{name}", depth)
        for name, node in value.items()
        if isinstance(name, str)
    }


def _list(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, list | tuple) or not value:
        return None
    return [reader.schema(node, f"{where}/{index}", depth) for index, node in enumerate(value)]


def _type(reader: _SchemaReader, value: Any, where: str, _: int) -> Any:
    if isinstance(value, str):
        name = _type_name(value)
        if name is None and value.lower() not in _ANY_TYPE:
            reader.note(where, f"unknown type {value[:40]!r}")
        return name if name is not None else list(_TYPES_IN_ORDER)
    if not isinstance(value, list | tuple):
        return None
    names = [_type_name(one) if isinstance(one, str) else None for one in value]
    if not names or None in names:
        reader.note(where, "unknown type in a list of types")
        return list(_TYPES_IN_ORDER)
    return list(dict.fromkeys(names))


_TYPES_IN_ORDER = ("object", "array", "string", "number", "boolean", "null")


def _type_name(written: str) -> str | None:
    lower = written.strip().lower()
    return lower if lower in _TYPES else _ALIASES.get(lower)


def _enum(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001 - one signature for all
    return list(value) if isinstance(value, list | tuple) and value else None


def _number(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - that is NaN's mark


def _bound(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    return value if isinstance(value, bool) else _number(reader, value, where, depth)


def _positive(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    number = _number(reader, value, where, depth)
    return number if number is not None and number > 0 else None


def _count(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _flag(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, bool) else None


def _names(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, bool):
        return []  # draft 3, translated where the object is
    if not isinstance(value, list | tuple):
        return None
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))


def _name_lists(reader: _SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, Mapping):
        return None
    lists = {
        name: _names(reader, names, where, depth) for name, names in value.items() if isinstance(name, str)
    }
    return {name: names for name, names in lists.items() if names is not None}


def _text(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, str) else None


def _ref(reader: _SchemaReader, value: Any, where: str, _: int) -> Any:
    if isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return value
    reader.note(where, "only local references are followed")
    return _DROPPED


def _format(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, str) else None


def _as_is(_: _SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value


_KEYWORDS: dict[str, _Reader] = {
    **dict.fromkeys(
        (
            "additionalProperties",
            "contains",
            "not",
            "if",
            "then",
            "else",
            "propertyNames",
            "unevaluatedProperties",
        ),
        _subschema,
    ),
    "unevaluatedItems": _subschema,
    "items": _items,
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _map),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _list),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains"),
        _count,
    ),
    "maxContains": _count,
    **dict.fromkeys(("minimum", "maximum"), _number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _bound),
    "multipleOf": _positive,
    "uniqueItems": _flag,
    "required": _names,
    "dependentRequired": _name_lists,
    **dict.fromkeys(("pattern", "description", "title"), _text),
    "format": _format,
    "type": _type,
    "enum": _enum,
    "const": _as_is,
    "default": _as_is,
    "examples": _as_is,
    "$ref": _ref,
}
