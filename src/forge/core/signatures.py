"""Parameter models and descriptions from typed Python functions and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

from forge.core.schema_models import pascal_case, safe_field_name


class Docstring:
    """A docstring taken apart: ``summary`` without its sections, ``parameters`` by name.

    Understands the Google style (``Args:``), reST fields (``:param x:``) and the NumPy style.
    """

    def __init__(self, text: str | None) -> None:
        text = inspect.cleandoc(text or "")
        self.parameters: dict[str, str] = {}
        self._rest_fields(text)
        body = re.split(_SECTION, text, maxsplit=1)[0]
        for block in re.finditer(_ARGUMENTS, text):
            self._entries(block["body"])
        self.summary = body.strip()

    def _rest_fields(self, text: str) -> None:
        for match in re.finditer(r"^:param\s+(?:\S+\s+)?(\w+):\s*(.*(?:\n[ \t]+.*)*)", text, re.MULTILINE):
            self.parameters[match[1]] = " ".join(match[2].split())

    def _entries(self, block: str) -> None:
        name = ""
        for line in inspect.cleandoc(block).splitlines():
            entry = re.match(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
            if entry and not line[:1].isspace():
                # NumPy writes ``name : type`` and the text below; Google writes ``name (type): text``.
                name = entry[1].lstrip("*")
                numpy = " :" in line.split(entry[1], 1)[1][:2]
                self.parameters[name] = "" if numpy else entry[2].strip()
            elif name:
                self.parameters[name] = f"{self.parameters[name]} {line.strip()}".strip()


_HEADINGS = "Args|Arguments|Parameters|Returns|Return|Yields|Raises|Examples?|Notes?"
_SECTION = re.compile(
    rf"^(?:(?:{_HEADINGS}):\s*$|(?:{_HEADINGS})\n-{{3,}}\s*$|:(?:param|returns?|raises|rtype)\b)",
    re.MULTILINE,
)
_ARGUMENTS = re.compile(
    rf"^(?:(?:Args|Arguments|Parameters):[ \t]*\n|Parameters\n-{{3,}}[ \t]*\n)"
    rf"(?P<body>(?:(?!(?:{_HEADINGS})(?::[ \t]*$|\n-{{3,}})).*\n?)*)",
    re.MULTILINE,
)


def parameters_model(function: Callable[..., Any], name: str, docstring: Docstring) -> type[BaseModel]:
    """A pydantic model with one field for each parameter of ``function``.

    Types come from the annotations (``Any`` where there is none), descriptions from ``Annotated[T, "text"]``,
    ``Field(description=...)`` or the docstring, in that order.

    Raises:
        TypeError: a parameter is positional-only, or no JSON Schema can describe its type.
    """
    hints = _annotations(function)
    fields: dict[str, Any] = {}
    extra = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"tool {name!r}: parameter {parameter.name!r} is positional-only; a model gives names"
            )
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = True
            continue
        annotation = hints.get(parameter.name, Any)
        field = _field(parameter, annotation, docstring.parameters.get(parameter.name))
        fields[safe_field_name(parameter.name, fields)] = (annotation, field)
    try:
        config = ConfigDict(populate_by_name=True, extra="allow" if extra else "forbid")
        model: type[BaseModel] = create_model(f"{pascal_case(name)}Params", __config__=config, **fields)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation) as error:
        raise TypeError(f"tool {name!r}: a parameter's type has no JSON Schema: {error}") from error
    return model


def bind_arguments(model: type[BaseModel], args: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for the function that ``model`` was made from, as values of the annotated types.

    Parameters that are not in ``args`` are left to the function's own defaults.

    Raises:
        pydantic.ValidationError: a value breaks a constraint that only Python can check.
    """
    values = model.model_validate(args)
    bound = {
        info.alias or name: getattr(values, name)
        for name, info in model.model_fields.items()
        if name in values.model_fields_set
    }
    return bound | (values.model_extra or {})


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    target = inspect.unwrap(getattr(target, "func", target))
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(f"the annotations of {function!r} cannot be resolved: {error}") from error


def _field(parameter: inspect.Parameter, annotation: Any, documented: str | None) -> FieldInfo:
    default = ... if parameter.default is parameter.empty else parameter.default
    alias = None if safe_field_name(parameter.name) == parameter.name else parameter.name
    if get_origin(annotation) is Annotated:
        for note in get_args(annotation)[1:]:
            if isinstance(note, str):
                documented = note
            elif isinstance(note, FieldInfo) and note.description:
                documented = note.description
    field: FieldInfo = Field(default, alias=alias, description=documented or None)
    return field
