"""Plain values for constrained decoding, bounded so that a small model cannot go on for ever."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SHORT_TEXT = 256
"""Longest text of a parameter that names something (a city, a path), in characters."""
LONG_TEXT = 4096
"""Longest text of a parameter that holds something (content, a message, code)."""
MAX_ITEMS = 32
"""Longest list whose schema sets no shorter limit."""
MAX_MEMBERS = 16
"""Most members of an object whose names the schema does not give."""
_LONG_NAMES = re.compile(
    r"content|text|body|code|message|markdown|html|patch|diff|script|prompt|string|quer|sql|command|description|note"
    r"|summary|answer|reply|comment|source|data|json|xml|input|output|thought|reason",
    re.IGNORECASE,
)
_FORMAT_LENGTH = 64
_FORMATS = frozenset({"date", "date-time", "time", "uuid", "email", "ipv4", "ipv6"})
# The patterns that all compilers read alike: anchored at both ends, plain classes, groups and counts. LLGuidance in
# llama-server fails silently on others and then constrains nothing at all.
_PLAIN_PATTERN = re.compile(
    r"\^(?:[^\\()\[\]{}?*+|^$.]|\\[dws.\-/+*?()\[\]{}|^$\\]|\((?:\?:)?|[)|.]|\[\^?(?:[^\\\]\[]|\\[dws.\-/+*?()\[\]{}|^$\\])+\]"
    r"|(?<=[^*+?}(|^])(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\}))*+\$"
)
_URI = r"^https?://[a-zA-Z0-9./?=&_%~#:-]{3,200}$"
_INTEGER_LIMIT = 2**53
_NUMBER_LIMIT = 10**12
_STEP = 0.000001
"""Step of numbers that have none of their own: without one a small model writes digits for ever."""


def any_scalar() -> dict[str, Any]:
    """Any plain value: what stands for an undescribed one where it may not nest without end."""
    text = {"type": "string", "maxLength": SHORT_TEXT}
    return {"anyOf": [text, _number("number"), {"type": "boolean"}, {"type": "null"}]}


def anything() -> dict[str, Any]:
    """A plain value, or a list or an object of plain values."""
    record = {
        "type": "object",
        "properties": {},
        "additionalProperties": any_scalar(),
        "maxProperties": MAX_MEMBERS,
    }
    items = {"type": "array", "items": any_scalar(), "maxItems": MAX_ITEMS}
    return {"anyOf": [*any_scalar()["anyOf"], items, record]}


def bounded_text(
    schema: Mapping[str, Any], name: str, short_text: int = SHORT_TEXT
) -> tuple[dict[str, Any], list[str]]:
    """The string schema ``schema`` of the parameter ``name`` with a bound, and the keywords it had to drop.

    ``short_text``: the bound for a parameter that does not sound as if it held a long text.
    """
    given_up: list[str] = []
    pattern, form = schema.get("pattern"), schema.get("format")
    if pattern is not None and (not _PLAIN_PATTERN.fullmatch(pattern) or not _compiles(pattern)):
        given_up.append("pattern")
        pattern = None
    if form in _FORMATS:
        return {"type": "string", "format": form, "maxLength": _FORMAT_LENGTH}, given_up
    if form == "uri" and pattern is None:
        pattern = _URI
    elif form is not None:
        given_up.append(f"format {form[:40]}")
    bound = LONG_TEXT if _LONG_NAMES.search(name) else short_text
    least = min(schema.get("minLength", 0), LONG_TEXT)
    most = max(min(schema.get("maxLength", bound), LONG_TEXT), least)
    result: dict[str, Any] = {"type": "string"}
    if pattern is not None:
        result["pattern"] = pattern
    if least:
        result["minLength"] = least
    return {**result, "maxLength": most}, given_up


def bounded_number(schema: Mapping[str, Any], types: str) -> tuple[dict[str, Any], list[str]]:
    """The number schema ``schema`` with bounds on both sides, and the keywords it had to drop."""
    result, given_up = _number(types), []
    limit = _INTEGER_LIMIT if types == "integer" else _NUMBER_LIMIT
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        bound = schema.get(keyword)
        if bound is None:
            continue
        if abs(bound) > limit:
            given_up.append(keyword)
            continue
        if keyword.startswith("exclusive"):
            result.pop(keyword.replace("exclusiveM", "m"), None)
        result[keyword] = bound
    step = schema.get("multipleOf")
    if step is not None and step >= (1 if types == "integer" else _STEP):
        result["multipleOf"] = step
    elif step is not None:
        given_up.append("multipleOf")
    return result, given_up


def with_short_texts(schema: dict[str, Any], longest: int) -> dict[str, Any]:
    """A copy of a lowered schema whose texts have at most ``longest`` characters, or their ``minLength``."""

    def shorten(node: Any) -> Any:
        if isinstance(node, list):
            return [shorten(one) for one in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") == "string" and "maxLength" in node:
            return {**node, "maxLength": max(min(node["maxLength"], longest), node.get("minLength", 0))}
        # Values of const and enum are data, whatever they look like.
        return {key: value if key in ("const", "enum") else shorten(value) for key, value in node.items()}

    return {key: shorten(value) for key, value in schema.items()}


def _number(types: str) -> dict[str, Any]:
    if types == "integer":
        return {"type": "integer", "minimum": -_INTEGER_LIMIT, "maximum": _INTEGER_LIMIT}
    return {"type": "number", "minimum": -_NUMBER_LIMIT, "maximum": _NUMBER_LIMIT, "multipleOf": _STEP}


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return len(pattern) <= 500
