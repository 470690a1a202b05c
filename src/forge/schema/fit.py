"""How well a value fits a schema, cheaply: enough to choose between the branches of a union."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forge.schema.problems import type_name
from forge.schema.understood import resolve_pointer

_WRONG_TYPE = 100
_WRONG_TAG = 60  # a branch's own constant: no conversion makes up for it
_LOOKS = 300
_LIMIT = 24
"""Conjuncts looked at for one value; a schema that nests more is understood in part."""


class SchemaView:
    """Looks at the subschemas of one understood schema with their references and ``allOf`` laid open."""

    __slots__ = ("_left", "root")

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._left = 0

    def conjuncts(self, schema: object) -> list[dict[str, Any]]:
        """Every object schema that a value must fit at once: the schema, what it refers to, its ``allOf``."""
        found: list[dict[str, Any]] = []
        todo = [schema]
        while todo and len(found) < _LIMIT:
            node = todo.pop(0)
            if not isinstance(node, dict) or any(node is other for other in found):
                continue
            found.append(node)
            if "$ref" in node:
                todo.append(resolve_pointer(self.root, node["$ref"]))
            todo.extend(node.get("allOf", ()))
        return found

    def types(self, parts: list[dict[str, Any]]) -> frozenset[str] | None:
        """The types all of ``parts`` allow, None when they do not say."""
        allowed: frozenset[str] | None = None
        for part in parts:
            names = _types_of(part)
            if names is not None:
                allowed = names if allowed is None else _both(allowed, names)
        return allowed

    def branches(self, parts: list[dict[str, Any]]) -> Iterator[list[Any]]:
        """The unions among ``parts``, each as its list of alternatives."""
        for part in parts:
            for keyword in ("anyOf", "oneOf"):
                if keyword in part:
                    yield part[keyword]

    def property_schema(self, parts: list[dict[str, Any]], name: str) -> object:
        """The schema of member ``name``, None when nothing is known about it."""
        known = [part["properties"][name] for part in parts if name in part.get("properties", ())]
        if not known:
            known = [
                part["additionalProperties"]
                for part in parts
                if isinstance(part.get("additionalProperties"), dict) and "patternProperties" not in part
            ]
        return _merged(known)

    def member_names(self) -> frozenset[str]:
        """The names of the root's members, those of its unions' branches included."""
        parts = self.conjuncts(self.root)
        for alternatives in self.branches(list(parts)):
            for one in alternatives[:_LIMIT]:
                parts.extend(self.conjuncts(one))
        return frozenset(name for part in parts for name in part.get("properties", ()))

    def item_schema(self, parts: list[dict[str, Any]], index: int) -> object:
        """The schema of item ``index``, None when nothing is known about it."""
        known = []
        for part in parts:
            prefix = part.get("prefixItems", ())
            if index < len(prefix):
                known.append(prefix[index])
            elif "items" in part:
                known.append(part["items"])
        return _merged(known)

    def misfit(self, value: object, schema: object) -> int:
        """0 for a value that fits as far as looked; else how badly: a wrong type or tag weighs most.

        Looks at a bounded number of subschemas, so that schemas that refer to themselves cost no more than others.
        """
        self._left = _LOOKS
        return self._misfit(value, schema, 0)

    def _misfit(self, value: object, schema: object, depth: int) -> int:
        if schema is False:
            return _WRONG_TYPE
        self._left -= 1
        if not isinstance(schema, dict) or depth > 6 or self._left < 0:
            return 0
        parts = self.conjuncts(schema)
        types = self.types(parts)
        if types is not None and not fits_type(value, types):
            return _WRONG_TYPE
        score = sum(_unlisted(value, part) for part in parts)
        for alternatives in self.branches(parts):
            score += min(self._misfit(value, one, depth + 1) for one in alternatives[:_LIMIT])
        if isinstance(value, dict):
            score += self._object_misfit(value, parts, depth)
        elif isinstance(value, list):
            for index, item in enumerate(value[:8]):
                score += min(10, self._misfit(item, self.item_schema(parts, index), depth + 1))
        return score

    def _object_misfit(self, value: dict[Any, Any], parts: list[dict[str, Any]], depth: int) -> int:
        score = 0
        known: set[str] = set()
        for part in parts:
            score += sum(5 for name in part.get("required", ()) if name not in value)
            known.update(part.get("properties", ()))
        closed = any(part.get("additionalProperties") is False for part in parts)
        for name, member in list(value.items())[:64]:
            if name in known:
                inner = self._misfit(member, self.property_schema(parts, name), depth + 1)
                score += min(inner, 20 if inner == _WRONG_TYPE else _WRONG_TAG)
            elif known:
                score += 5 if closed else 1
        return score


def fits_type(value: object, types: frozenset[str]) -> bool:
    """Whether the value's JSON type is among ``types``."""
    name = type_name(value)
    return name in types or (name == "integer" and "number" in types)


def _unlisted(value: object, part: dict[str, Any]) -> int:
    if "const" in part and not same(value, part["const"]):
        return _WRONG_TAG
    options = part.get("enum")
    if options is None or any(same(value, option) for option in options):
        return 0
    return _WRONG_TAG if len(options) == 1 else 20


def same(one: object, other: object) -> bool:
    """JSON equality of scalars: ``True`` is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _types_of(part: dict[str, Any]) -> frozenset[str] | None:
    declared = part.get("type")
    if isinstance(declared, str):
        return frozenset((declared,))
    if isinstance(declared, list):
        return frozenset(declared)
    if "const" in part:
        return frozenset((type_name(part["const"]),))
    if "enum" in part:
        return frozenset(type_name(option) for option in part["enum"])
    return None


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    both = one & other
    if ("number" in one and "integer" in other) or ("number" in other and "integer" in one):
        both |= {"integer"}
    return both


def _merged(known: list[Any]) -> object:
    if not known:
        return None
    return known[0] if len(known) == 1 else {"allOf": known}
