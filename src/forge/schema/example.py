"""An example of a right value, built from its schema: what a correction shows a model."""

from __future__ import annotations

from typing import Any

from forge.schema.fit import SchemaView

_FORMATS = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "name@example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
_MAX_DEPTH = 4
_MAX_MEMBERS = 12


def example_arguments(view: SchemaView, *, named: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Arguments of the right shape: every required member, and the optional ones in ``named``."""
    value = _example(view, view.root, "", 0, named)
    return value if isinstance(value, dict) else {}


def _example(
    view: SchemaView, schema: object, name: str, depth: int, named: frozenset[str] = frozenset()
) -> Any:
    if depth > _MAX_DEPTH * 2:
        return None
    parts = view.conjuncts(schema)
    for part in parts:
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return next((option for option in part["enum"] if option is not None), None)
        for keyword in ("default", "examples"):
            found = part.get(keyword)
            if depth and keyword == "examples" and isinstance(found, list) and found:
                return found[0]
            if depth and keyword == "default" and isinstance(found, str | int | float) and found != "":
                return found
    types = view.types(parts)
    if types is None:
        for alternatives in view.branches(parts):
            return _example(view, _first_real(view, alternatives), name, depth + 1, named)
    if types is None and any("properties" in part for part in parts):
        types = frozenset({"object"})
    return _of_type(view, parts, types, name, depth, named)


def _of_type(
    view: SchemaView,
    parts: list[dict[str, Any]],
    types: frozenset[str] | None,
    name: str,
    depth: int,
    named: frozenset[str],
) -> Any:
    if types is not None and "object" in types:
        return _object(view, parts, depth, named)
    if types is not None and "array" in types:
        item = view.item_schema(parts, 0)
        return [_example(view, item, name, depth + 1)] if depth < _MAX_DEPTH and item is not None else []
    if types is None or "string" in types:
        form = next((part["format"] for part in parts if part.get("format") in _FORMATS), None)
        return _FORMATS[form] if form else f"<{name}>" if name else "<text>"
    if types & {"integer", "number"}:
        low = max((part["minimum"] for part in parts if "minimum" in part), default=None)
        high = min((part["maximum"] for part in parts if "maximum" in part), default=None)
        return low if low is not None else 1 if high is None or high >= 1 else high
    return True if "boolean" in types else None


def _object(
    view: SchemaView, parts: list[dict[str, Any]], depth: int, named: frozenset[str]
) -> dict[str, Any]:
    required = {name for part in parts for name in part.get("required", ())}
    known = dict.fromkeys(name for part in parts for name in part.get("properties", ()))
    shown = [name for name in known if name in required or (depth == 0 and name in named)]
    shown += [name for name in required if name not in known]
    result: dict[str, Any] = {}
    if depth < _MAX_DEPTH:
        for name in shown[: _MAX_MEMBERS if depth == 0 else _MAX_MEMBERS // 2]:
            result[name] = _example(view, view.property_schema(parts, name), name, depth + 1)
    return result


def _first_real(view: SchemaView, alternatives: list[Any]) -> Any:
    for one in alternatives:
        if view.types(view.conjuncts(one)) != frozenset({"null"}):
            return one
    return alternatives[0]
