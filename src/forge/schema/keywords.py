"""The keywords of JSON Schema: which values each may have, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

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

DROPPED = object()
"""Given for a value that was left out with a note of its own; None is given for a malformed one."""


class SchemaReader(Protocol):
    """What reads the subschemas inside a keyword."""

    def schema(self, node: object, where: str, depth: int) -> dict[str, Any] | bool:
        """The understood form of a subschema."""

    def note(self, where: str, what: str) -> None:
        """Tell that something was not understood."""


KeywordReader = Callable[[SchemaReader, Any, str, int], Any]


def _subschema(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    return reader.schema(value, where, depth) if isinstance(value, bool | Mapping) else None


def _items(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    if isinstance(value, list | tuple):
        return _list(reader, value, where, depth)
    return _subschema(reader, value, where, depth)


def _map(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, Mapping):
        return None
    return {
        name: reader.schema(node, f"{where}/{name}", depth)
        for name, node in value.items()
        if isinstance(name, str)
    }


def _list(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, list | tuple) or not value:
        return None
    return [reader.schema(node, f"{where}/{index}", depth) for index, node in enumerate(value)]


def _type(reader: SchemaReader, value: Any, where: str, _: int) -> Any:
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


def _enum(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001 - one signature for all
    return list(value) if isinstance(value, list | tuple) and value else None


def _number(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - that is NaN's mark


def _bound(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    return value if isinstance(value, bool) else _number(reader, value, where, depth)


def _positive(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    number = _number(reader, value, where, depth)
    return number if number is not None and number > 0 else None


def _count(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _flag(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, bool) else None


def _names(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    if isinstance(value, bool):
        return []  # draft 3, translated where the object is
    if not isinstance(value, list | tuple):
        return None
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))


def _name_lists(reader: SchemaReader, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, Mapping):
        return None
    lists = {
        name: _names(reader, names, where, depth) for name, names in value.items() if isinstance(name, str)
    }
    return {name: names for name, names in lists.items() if names is not None}


def _text(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, str) else None


def _ref(reader: SchemaReader, value: Any, where: str, _: int) -> Any:
    if isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return value
    reader.note(where, "only local references are followed")
    return DROPPED


def _format(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value if isinstance(value, str) else None


def _as_is(_: SchemaReader, value: Any, where: str, depth: int) -> Any:  # noqa: ARG001
    return value


KEYWORDS: dict[str, KeywordReader] = {
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
