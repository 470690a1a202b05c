"""Tools from whatever a user hands us: a ToolSpec, an OpenAI or Anthropic tool object, or a bare name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forge.core.request import Tool


def as_tool(tool: object) -> Tool:
    """The neutral form of one tool.

    Accepts a :class:`Tool`, an OpenAI tool object (``{"type": "function", "function": {...}}`` or the inner
    object alone), an Anthropic one (``name`` and ``input_schema``), a bare name, or anything with ``name`` and
    ``get_json_schema()`` (``ToolSpec``) or ``spec`` (``ToolDef``). A missing or malformed schema becomes ``{}``:
    nothing is known about the arguments then.

    Raises:
        TypeError: the object has no tool name.
    """
    if isinstance(tool, Tool):
        return tool
    if isinstance(tool, str):
        return Tool(name=tool)
    if isinstance(tool, Mapping):
        return _from_mapping(tool)
    spec: Any = getattr(tool, "spec", tool)
    name = getattr(spec, "name", None)
    if isinstance(name, str) and callable(getattr(spec, "get_json_schema", None)):
        schema = spec.get_json_schema()
        return Tool(name=name, description=spec.description or "", parameters=dict(schema))
    raise TypeError(f"not a tool: {tool!r}")


def as_tools(tools: Iterable[object] | None) -> tuple[Tool, ...]:
    """:func:`as_tool` over many; None means no tools."""
    return tuple(as_tool(tool) for tool in tools or ())


def _from_mapping(tool: Mapping[str, Any]) -> Tool:
    inner = tool.get("function")
    body: Mapping[str, Any] = inner if isinstance(inner, Mapping) else tool
    name = body.get("name")
    if not isinstance(name, str):
        raise TypeError(f"tool has no name: {dict(tool)!r}")
    schema = body.get("parameters", body.get("input_schema"))
    description = body.get("description")
    return Tool(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=dict(schema) if isinstance(schema, Mapping) else {},
    )
