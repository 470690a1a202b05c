"""What is wrong with a value, in the terms of a schema: errors of the validator as problems a model can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import jsonschema_rs

from forge.core.ledger import Problem

MAX_PROBLEMS = 12
"""Problems reported for one call. A model that sees more mends fewer."""

_SHOWN = 120


def shown(value: object, limit: int = _SHOWN) -> str:
    """``value`` as JSON, shortened in the middle of nowhere but never in the middle of an escape."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def pointer(parts: Iterable[object]) -> str:
    """A JSON pointer from path segments."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def type_name(value: object) -> str:
    """The JSON Schema type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def without_duplicates(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """At most ``MAX_PROBLEMS``, each place and keyword once, in order."""
    seen: dict[tuple[str, str, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.path, problem.code, problem.message), problem)
        if len(seen) >= MAX_PROBLEMS:
            break
    return tuple(seen.values())


def problems_of(error: jsonschema_rs.ValidationError, depth: int = 0) -> list[Problem]:
    """The problems behind one validator error; a failed union is reported as its best branch."""
    kind = error.kind
    if kind.name in ("anyOf", "oneOf") and depth < 8:
        context: list[list[jsonschema_rs.ValidationError]] | None = getattr(kind, "context", None)
        if context and any(context):
            return _best_branch(error, context, depth)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded):
        return []
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.PropertyNames):
        return [_problem(error, "propertyNames", kind.as_dict())]
    if "Error executing regex" in error.message:
        return []  # the pattern is too expensive to decide, which is not the call's fault
    return [_problem(error, kind.name, kind.as_dict())]


def _best_branch(
    error: jsonschema_rs.ValidationError, context: list[list[jsonschema_rs.ValidationError]], depth: int
) -> list[Problem]:
    """The branch the model most likely meant: right type and right discriminator first, then fewest errors."""
    here = len(error.instance_path)
    failed = [branch for branch in context if branch]
    if not failed:
        return [_problem(error, "oneOf", {})]
    wrong_type = [_types_wanted(branch, here) for branch in failed]
    if all(wrong_type):
        wanted = list(dict.fromkeys(name for names in wrong_type for name in names))
        return [_type_problem(error, wanted)]
    best = min(failed, key=lambda branch: _distance(branch, here))
    return [problem for inner in best for problem in problems_of(inner, depth + 1)]


def _types_wanted(branch: list[jsonschema_rs.ValidationError], here: int) -> list[str]:
    return [
        name
        for inner in branch
        if inner.kind.name == "type" and len(inner.instance_path) == here
        for name in _type_list(inner.kind.as_dict())
    ]


def _distance(branch: list[jsonschema_rs.ValidationError], here: int) -> tuple[int, int, int]:
    wrong_type = any(e.kind.name == "type" and len(e.instance_path) == here for e in branch)
    wrong_tag = sum(e.kind.name in ("const", "enum") and len(e.instance_path) == here + 1 for e in branch)
    return (int(wrong_type), wrong_tag, len(branch))


def _type_list(details: dict[str, Any]) -> list[str]:
    types = details.get("types", details.get("type", []))
    return [types] if isinstance(types, str) else [str(one) for one in types]


def _type_problem(error: jsonschema_rs.ValidationError, wanted: list[str]) -> Problem:
    found = type_name(error.instance)
    message = f"must be {_one_of(wanted)}, not {found} {shown(error.instance, 60)}"
    return Problem(
        code="type", path=pointer(error.instance_path), message=message, expected=wanted, got=found
    )


def _one_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _problem(error: jsonschema_rs.ValidationError, code: str, details: dict[str, Any]) -> Problem:
    path, got = pointer(error.instance_path), error.instance
    if code == "type":
        return _type_problem(error, _type_list(details))
    if code == "required":
        name = str(details.get("property", ""))
        return Problem(
            code=code, path=path + pointer([name]), message="is required but missing", expected=name
        )
    if code in ("additionalProperties", "unevaluatedProperties"):
        names = [str(name) for name in details.get("unexpected", [])]
        text = "has no such member" if len(names) == 1 else "has no such members"
        return Problem(
            code=code, path=path, message=f"{text}: {', '.join(map(shown, names))[:_SHOWN]}", got=names
        )
    expected = next(iter(details.values()), None)
    return Problem(code=code, path=path, message=_sentence(error, code, expected), expected=expected, got=got)


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "greater than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
_SIZES = {
    "minLength": ("at least", "characters"),
    "maxLength": ("at most", "characters"),
    "minItems": ("at least", "items"),
    "maxItems": ("at most", "items"),
    "minProperties": ("at least", "members"),
    "maxProperties": ("at most", "members"),
}


def _sentence(error: jsonschema_rs.ValidationError, code: str, expected: Any) -> str:
    got = shown(error.instance, 60)
    if code in _BOUNDS:
        return f"must be {_BOUNDS[code]} {shown(expected)}, not {got}"
    if code in _SIZES:
        limit, unit = _SIZES[code]
        return f"must have {limit} {shown(expected)} {unit}"
    if code == "enum" and isinstance(expected, list):
        listed = ", ".join(shown(option, 40) for option in expected[:20])
        return f"must be one of {listed}{', …' if len(expected) > 20 else ''}, not {got}"
    wanted = {
        "const": f"must be {shown(expected)}, not {got}",
        "pattern": f"must match the pattern {shown(expected)}, not {got}",
        "format": f"must be a valid {expected}, not {got}",
        "uniqueItems": "must not repeat an item",
        "falseSchema": "is not allowed",
        "oneOf": f"fits more than one of the allowed forms: {got}",
        "not": f"must not be {got}",
    }
    return wanted.get(code, f"breaks the rule {code}: {got}")
