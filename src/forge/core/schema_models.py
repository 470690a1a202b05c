"""Pydantic models from JSON Schemas: a mirror for code that expects ``ToolSpec.parameters`` to be a model.

The mirror is coarse on purpose. Calls are checked against the raw schema, which loses nothing.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

_SIMPLE: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_UNMAPPED = ("anyOf", "oneOf", "allOf", "$ref", "not")


def pascal_case(name: str) -> str:
    """``get_weather`` as ``GetWeather``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^0-9A-Za-z]+", name) if part)


def model_from_schema(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """A model named ``name`` with a field for each property of an object schema.

    Whatever a Python type cannot say (bounds, patterns, unions, references) becomes ``Any`` or is left out; nothing
    raises, however odd the schema.
    """
    properties = schema.get("properties")
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    fields: dict[str, Any] = {}
    if isinstance(properties, Mapping):
        for key, raw in properties.items():
            definition = raw if isinstance(raw, Mapping) else {}
            python = _python_type(definition, f"{name}_{key[:1].upper()}{key[1:]}")
            default = ... if key in required else definition.get("default")
            if default is not ...:
                python = Any if python is Any else Optional[python]  # noqa: UP045 - also of None
            fields[safe_field_name(key, fields)] = (
                python,
                Field(
                    default,
                    alias=None if _is_safe(key) else key,
                    description=_text(definition.get("description")),
                ),
            )
    config = ConfigDict(populate_by_name=True, arbitrary_types_allowed=True)
    model: type[BaseModel] = create_model(name, __config__=config, **fields)
    return model


def safe_field_name(key: str, taken: Mapping[str, Any] = {}) -> str:
    """A name under which pydantic accepts the property ``key``: itself wherever possible."""
    if _is_safe(key):
        return key
    name = "field_" + re.sub(r"\W", "_", key)
    while name in taken:
        name += "_"
    return name


def _is_safe(key: str) -> bool:
    # Leading underscores are private to pydantic, ``model_`` is its namespace, and a field must not hide a method.
    return (
        key.isidentifier()
        and not keyword.iskeyword(key)
        and not key.startswith(("_", "model_"))
        and not hasattr(BaseModel, key)
    )


def _python_type(schema: Mapping[str, Any], name: str) -> Any:
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed and all(_can_be_literal(value) for value in allowed):
        return Literal[tuple(allowed)]
    declared = schema.get("type")
    if isinstance(declared, list):
        options = tuple(_single_type(t, schema, name) for t in declared)
        return Union[options] if options and Any not in options else Any  # noqa: UP007 - built from a tuple
    if declared is None and any(word in schema for word in (*_UNMAPPED, "const", "enum")):
        return Any
    return _single_type("string" if declared is None else declared, schema, name)


def _single_type(declared: Any, schema: Mapping[str, Any], name: str) -> Any:
    if declared == "object":
        properties = schema.get("properties")
        return model_from_schema(name, schema) if isinstance(properties, Mapping) and properties else dict
    if declared == "array":
        items = schema.get("items")
        return list[_python_type(items, name)] if isinstance(items, Mapping) else list  # type: ignore[misc]  # built at run time
    return _SIMPLE.get(declared, Any) if isinstance(declared, str) else Any


def _can_be_literal(value: Any) -> bool:
    return value is None or isinstance(value, str | int | bool)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
