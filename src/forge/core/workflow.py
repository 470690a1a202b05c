"""Tools and the workflows that they make up."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic.json_schema import GenerateJsonSchema

from forge.core.calls import LLMResponse, TextResponse, ToolCall
from forge.core.schema_models import model_from_schema, pascal_case
from forge.core.signatures import Docstring, bind_arguments, parameters_model

__all__ = ["LLMResponse", "TextResponse", "ToolCall", "ToolDef", "ToolSpec", "Workflow"]


class _QuietSchema(GenerateJsonSchema):
    # A default that JSON cannot hold is the function's own business; the model is only told that there is one.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own shape


# Kept beside the models and not in the specs: specs are compared by value, and asking for a schema changes none.
_schemas: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    schema = _schemas.get(model)
    if schema is None:
        schema = _schemas[model] = model.model_json_schema(schema_generator=_QuietSchema)
    return schema


class ToolSpec(BaseModel):
    """What a model is told about a tool: its name, what it does, and the schema of its arguments."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    description: str
    parameters: type[BaseModel]
    _schema: dict[str, Any] | None = PrivateAttr(default=None)
    _typed: bool = PrivateAttr(default=False)

    @classmethod
    def from_json_schema(cls, name: str, description: str, schema: Mapping[str, Any]) -> ToolSpec:
        """A tool whose arguments are described by a JSON Schema.

        The schema is kept as it is: models see it and calls are checked against all of it. ``parameters`` is a
        pydantic model that mirrors its properties. What is not understood in a schema is shown and not enforced.

        Raises:
            ValueError: the schema is no JSON object.
        """
        if not isinstance(schema, Mapping):
            raise ValueError(  # noqa: TRY004 - the contract's kind for whatever a workflow cannot be made of
                f"the schema of tool {name!r} must be a JSON object, not {type(schema).__name__}"
            )
        spec = cls(
            name=name,
            description=description,
            parameters=model_from_schema(f"{pascal_case(name)}Params", schema),
        )
        spec._schema = copy.deepcopy(dict(schema))
        return spec

    @classmethod
    def from_callable(
        cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> ToolSpec:
        """A tool from a typed function, sync or async; its docstring gives the descriptions.

        Raises:
            TypeError: a parameter is positional-only, or its type has no JSON Schema.
            ValueError: the function has no name of its own and none is given.
        """
        name = name or getattr(function, "__name__", None) or getattr(type(function), "__name__", None)
        if not name or name == "<lambda>":
            raise ValueError("a tool needs a name; give one with name=")
        docstring = Docstring(function.__doc__)
        spec = cls(
            name=name,
            description=docstring.summary if description is None else description,
            parameters=parameters_model(function, name, docstring),
        )
        spec._typed = True
        return spec

    def get_json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: the one given, or that of ``parameters``. The caller's own copy."""
        return copy.deepcopy(_schema_of(self.parameters) if self._schema is None else self._schema)

    def bind(self, args: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the tool's function, from arguments that fit the schema.

        For a spec made from a function, values of the annotated types; otherwise ``args`` unchanged.

        Raises:
            pydantic.ValidationError: a value breaks a constraint that only Python can check.
        """
        return bind_arguments(self.parameters, args) if self._typed else args


@dataclass
class ToolDef:
    """A tool: its spec and the function that does the work, sync or async.

    ``prerequisites`` are names of tools that must have succeeded before, or ``{"tool": X, "match_arg": A}`` for a
    success with the same argument A. ``timeout`` is in seconds. ``parallel`` allows this tool to run at the same
    time as its neighbours in a batch; give it only to tools that change nothing.
    """

    spec: ToolSpec
    callable: Callable[..., Any]
    prerequisites: list[str | dict[str, str]] = field(default_factory=list)
    timeout: float | None = None
    parallel: bool = False

    @property
    def name(self) -> str:
        """The spec's name."""
        return self.spec.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, so that a decorated function still is one."""
        return self.callable(*args, **kwargs)


@dataclass
class Workflow:
    """A task: its tools, which of them are required, and which end it.

    Raises:
        ValueError: tools, required steps, terminal tools and prerequisites do not fit together.
    """

    name: str
    description: str
    tools: dict[str, ToolDef]
    required_steps: list[str]
    terminal_tool: str | list[str]
    system_prompt_template: str
    terminal_tools: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Check that all names fit together."""
        terminal = self.terminal_tool
        self.terminal_tools = frozenset([terminal] if isinstance(terminal, str) else terminal)
        for key, tool in self.tools.items():
            if key != tool.name:
                raise ValueError(f"tool key {key!r} does not match its tool's name {tool.name!r}")
        for step in self.required_steps:
            self._known("Required step", step)
        for name in sorted(self.terminal_tools):
            self._known("Terminal tool", name)
        for name in sorted(self.terminal_tools.intersection(self.required_steps)):
            raise ValueError(f"Terminal tool '{name}' cannot also be a required step")
        for tool in self.tools.values():
            for entry in tool.prerequisites:
                self._known("Prerequisite", entry if isinstance(entry, str) else entry["tool"])

    @classmethod
    def from_tools(
        cls,
        tools: Iterable[ToolDef],
        *,
        terminal_tool: str | list[str],
        required_steps: Sequence[str] = (),
        name: str = "workflow",
        description: str = "",
        system_prompt: str = "You are a helpful assistant. Use the available tools to answer the user.",
    ) -> Workflow:
        """A workflow from tools that carry their own names.

        Raises:
            ValueError: two tools have one name, or what the class itself refuses.
        """
        by_name: dict[str, ToolDef] = {}
        for tool in tools:
            if by_name.setdefault(tool.name, tool) is not tool:
                raise ValueError(f"two tools are named {tool.name!r}")
        return cls(
            name=name,
            description=description,
            tools=by_name,
            required_steps=list(required_steps),
            terminal_tool=terminal_tool,
            system_prompt_template=system_prompt,
        )

    def build_system_prompt(self, **kwargs: Any) -> str:
        """The system prompt, with ``{name}`` replaced by the variables.

        Braces that are no placeholder (JSON in the prompt, say) stay as they are.

        Raises:
            KeyError: a placeholder has no variable.
        """
        try:
            return self.system_prompt_template.format(**kwargs)
        except (KeyError, IndexError, ValueError):
            return _PLACEHOLDER.sub(lambda match: str(kwargs[match[1]]), self.system_prompt_template)

    def get_tool_specs(self) -> list[ToolSpec]:
        """The specs of all tools, in the order in which they were given."""
        return [tool.spec for tool in self.tools.values()]

    def get_callable(self, name: str) -> Callable[..., Any]:
        """The function of one tool.

        Raises:
            KeyError: there is no such tool.
        """
        return self.tools[name].callable

    def _known(self, what: str, name: str) -> None:
        if name not in self.tools:
            raise ValueError(f"{what} '{name}' is not one of the tools: {', '.join(self.tools) or 'none'}")


_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
