"""Compiled JSON Schemas: what a tool's arguments are checked with."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from forge.core.ledger import Problem
from forge.schema.fit import SchemaView
from forge.schema.problems import MAX_PROBLEMS, problems_of, without_duplicates
from forge.schema.understood import ENFORCED_FORMATS, understand

_CACHE = 256
"""Compiled schemas kept at a time: the tools of a few dozen clients."""
_LONGEST = 64 * 1024
"""Bytes of a schema that is kept: compiled, it takes many times as much."""

_KEYED = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
)


class CompiledSchema:
    """A schema ready for checking. ``schema`` is its understood form, ``notes`` what of it is not checked."""

    __slots__ = (
        "_validator",
        "_whole",
        "notes",
        "parameter_names",
        "schema",
        "text_names",
        "top_level_names",
        "view",
        "wants_integers",
    )

    def __init__(self, schema: object) -> None:
        understood = understand(schema)
        self.schema: dict[str, Any] = understood.schema
        self._validator, dropped = _compile(self.schema)
        self._whole = not dropped
        self.notes: tuple[str, ...] = (*understood.notes, *dropped)
        self.view = SchemaView(self.schema)
        self.top_level_names = self.view.member_names()
        self.text_names = _text_names(self.schema)
        """Members that any text fits as it is; empty where more than their own schemas speaks about them."""
        self.parameter_names = frozenset(_every_name(self.schema))
        self.wants_integers = _mentions(self.schema, "integer")
        """Whether an integer is wanted anywhere."""

    def wants_text(self, name: str) -> bool:
        """Whether the top-level member ``name`` is text and nothing else."""
        schema = self.view.property_schema(self.view.conjuncts(self.schema), name)
        return self.view.types(self.view.conjuncts(schema)) == frozenset({"string"})

    def accepts(self, value: object) -> bool:
        """Whether ``value`` fits; False too where the schema could not be compiled whole."""
        if self._validator is None or not self._whole:
            return False
        try:
            return self._validator.is_valid(value)
        except ValueError:  # as in problems()
            return False

    def problems(self, value: object) -> tuple[Problem, ...]:
        """Every way in which ``value`` breaks the schema, most telling first, at most ``MAX_PROBLEMS``."""
        if self._validator is None:
            return ()
        try:
            if self._validator.is_valid(value):
                return ()
            errors = list(islice(self._validator.iter_errors(value), MAX_PROBLEMS * 2))
        except (
            ValueError
        ) as error:  # a lone surrogate, a value that is no JSON, nesting beyond the checker's limit
            return _unencodable(self, value, error)
        return without_duplicates(problem for error in errors for problem in problems_of(error))


def compile_schema(schema: object) -> CompiledSchema:
    """The compiled form of ``schema``, from a bounded cache keyed by the schema's digest. Never raises."""
    key = _Key(schema)
    return _compiled(key) if key.written <= _LONGEST else CompiledSchema(schema)


def _mentions(schema: object, word: str) -> bool:
    todo = [schema]
    while todo:
        node = todo.pop()
        if node == word:
            return True
        if isinstance(node, dict | list):
            todo.extend(node.values() if isinstance(node, dict) else node)
    return False


def _every_name(schema: dict[str, Any]) -> Iterator[str]:
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            properties = node.get("properties")
            if isinstance(properties, dict):
                yield from properties
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)


_SAYS_NOTHING = frozenset({"type", "description", "title", "default", "examples"})
_SIMPLE_OBJECT = _SAYS_NOTHING | {"properties", "required", "additionalProperties", "$schema"}


def _text_names(schema: dict[str, Any]) -> frozenset[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not schema.keys() <= _SIMPLE_OBJECT:
        return frozenset()
    return frozenset(
        name
        for name, one in properties.items()
        if isinstance(one, dict) and one.get("type") == "string" and one.keys() <= _SAYS_NOTHING
    )


class _Key:
    """Equal for schemas of equal content, without keeping their serialised form in the cache."""

    __slots__ = ("digest", "schema", "written")

    def __init__(self, schema: object) -> None:
        self.schema = schema
        canonical = _canonical(schema)
        self.written = len(canonical)
        self.digest = hashlib.blake2b(canonical, digest_size=16).digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.digest == other.digest


@lru_cache(maxsize=_CACHE)
def _compiled(key: _Key) -> CompiledSchema:
    compiled = CompiledSchema(key.schema)
    key.schema = None
    return compiled


def _canonical(schema: object) -> bytes:
    try:
        return msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError, UnicodeError, msgspec.MsgspecError):
        pass
    try:
        return json.dumps(schema, default=repr, skipkeys=True).encode()
    except (TypeError, ValueError, RecursionError):
        return repr(type(schema)).encode()


def _is_date_time(text: str) -> bool:
    """RFC 3339, with the time zone optional: the programs that tools call accept local times as well."""
    try:
        dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return "T" in text or "t" in text or " " in text


def _is_time(text: str) -> bool:
    try:
        dt.time.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


_FORMATS = {"date-time": _is_date_time, "time": _is_time}


def _compile(schema: dict[str, Any]) -> tuple[jsonschema_rs.Draft202012Validator | None, list[str]]:
    """A validator for as much of ``schema`` as compiles; each refusal costs the keyword that caused it."""
    tree = _checked(schema)
    notes: list[str] = []
    for _ in range(12):
        try:
            validator = jsonschema_rs.Draft202012Validator(
                tree, offline=True, validate_formats=True, formats=_FORMATS, ignore_unknown_formats=True
            )
        except jsonschema_rs.ValidationError as error:
            where = [str(part) for part in error.instance_path]
            if not where or not _remove(tree, where):
                notes.append("schema not understood, arguments are not checked")
                return None, notes
            notes.append(f"/{'/'.join(where)[:120]}: not understood")
        except (ValueError, jsonschema_rs.ReferencingError):
            notes.append("schema not understood, arguments are not checked")
            return None, notes
        else:
            return validator, notes
    return None, [*notes, "too much of the schema is not understood, arguments are not checked"]


def _checked(node: Any, *, keyed: bool = False) -> Any:
    """A copy without annotations and without the formats that nobody enforces."""
    if isinstance(node, list):
        return [_checked(one) for one in node]
    if not isinstance(node, Mapping):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if keyed:
            copy[key] = _checked(value)
        elif key in ("enum", "const", "required", "dependentRequired"):
            copy[key] = value
        elif key in ("default", "examples", "description", "title"):
            continue
        elif key != "format" or value in ENFORCED_FORMATS:
            copy[key] = _checked(value, keyed=key in _KEYED)
    return copy


def _remove(tree: Any, where: list[str]) -> bool:
    *parents, last = where
    node = tree
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node.get(part)
        if not isinstance(node, dict | list):
            return False
    return isinstance(node, dict) and node.pop(last, None) is not None


def _unencodable(compiled: CompiledSchema, value: object, error: ValueError) -> tuple[Problem, ...]:
    """Check what can be checked of a value that the validator cannot take as it is."""
    clean = _clean(value, 0)
    if clean == value:
        return (Problem(code="json", path="", message=f"the value is not JSON ({error})"),)
    return compiled.problems(clean)


def _clean(value: Any, depth: int) -> Any:
    if depth > 200:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_clean(str(key), depth): _clean(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one, depth + 1) for one in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
