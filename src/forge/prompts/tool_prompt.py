"""The description of tools for models that must be told about them in the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forge.core.request import Tool
from forge.schema.spec import as_tools

_MAX_DEPTH = 4


def build_tool_prompt(tools: Iterable[object]) -> str:
    """Describe tools and how to call them, as text for a system prompt.

    Args:
        tools: ``ToolSpec`` objects, or anything else that :func:`forge.schema.spec.as_tool` takes.

    The model is asked for one JSON object with the keys ``tool`` and ``args``.
    """
    known = as_tools(tools)
    sections = ["You can use these tools:", *(_describe(tool) for tool in known)]
    sections.append('To use a tool, answer with one JSON object that has the keys "tool" and "args".')
    if known:
        sections.append(f"For example:\n{_example(known[0])}")
    sections.append("Answer with the JSON object only: no text before or after it, no code fence.")
    return "\n\n".join(sections)


def _describe(tool: Tool) -> str:
    lines = [f"## {tool.name}", tool.description]
    properties = _properties(tool.parameters)
    if properties:
        lines.append("Parameters:")
        lines.extend(_parameters(tool.parameters, tool.parameters, indent="", depth=0))
    return "\n".join(line for line in lines if line)


def _parameters(schema: Mapping[str, Any], root: Mapping[str, Any], indent: str, depth: int) -> list[str]:
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    lines: list[str] = []
    for name, raw in _properties(schema).items():
        parameter = _resolve(raw, root)
        need = "required" if name in required else "optional"
        text = raw.get("description") or parameter.get("description")
        line = f"{indent}- {name} ({type_name(raw, root)}) ({need})"
        lines.append(f"{line}: {text}" if isinstance(text, str) and text else line)
        allowed = parameter.get("enum")
        if isinstance(allowed, list) and allowed:
            lines.append(f"{indent}  Allowed values: {', '.join(map(str, allowed))}")
        inner = _object_inside(parameter, root)
        if inner is not None and depth < _MAX_DEPTH:
            lines.extend(_parameters(inner, root, indent + "  ", depth + 1))
    return lines


def type_name(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> str:
    """A schema's type in the words of JSON (``string``, ``array of integer``), or ``any`` where it has none."""
    schema = _resolve(schema, root)
    declared = schema.get("type")
    if depth > _MAX_DEPTH:
        return "any"
    if isinstance(declared, list):
        return " or ".join(str(t) for t in declared if t != "null") or "null"
    if declared == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {type_name(schema['items'], root, depth + 1)}"
    if isinstance(declared, str):
        return declared
    branches = _branches(schema)
    names = dict.fromkeys(type_name(branch, root, depth + 1) for branch in branches)
    if names:
        return " or ".join(names)
    if "enum" in schema and isinstance(schema["enum"], list):
        kinds = dict.fromkeys(_JSON_NAMES.get(type(value), "any") for value in schema["enum"])
        return " or ".join(kinds) or "any"
    return "object" if "properties" in schema else "any"


_JSON_NAMES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references, and see through ``anyOf`` with null to the one type that is left."""
    for _ in range(_MAX_DEPTH):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = root
            for part in reference[2:].split("/"):
                target = target.get(part) if isinstance(target, Mapping) else None
            if not isinstance(target, Mapping):
                return {}
            schema = target
            continue
        branches = _branches(schema)
        if len(branches) != 1:
            return schema
        schema = branches[0]
    return schema


def _branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    branches: Any = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if not isinstance(branches, list):
        return []
    return [b for b in branches if isinstance(b, Mapping) and b.get("type") != "null"]


def _object_inside(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    items = schema.get("items")
    inner = _resolve(items, root) if isinstance(items, Mapping) else schema
    return inner if _properties(inner) else None


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {str(name): value if isinstance(value, Mapping) else {} for name, value in properties.items()}


def _example(tool: Tool) -> str:
    args = ", ".join(f'"{name}": "<{name}>"' for name in _properties(tool.parameters))
    return f'{{"tool": "{tool.name}", "args": {{{args}}}}}'
