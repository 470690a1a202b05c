"""From whatever a caller calls a schema to a well-formed JSON Schema (draft 2020-12, local references only)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from forge.schema.keywords import DROPPED, KEYWORDS

MAX_DEPTH = 64
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
            read = KEYWORDS.get(keyword) if isinstance(keyword, str) else None
            if read is None:
                continue
            kept = read(self, value, f"{where}/{keyword}", depth + 1)
            if kept is DROPPED:
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
