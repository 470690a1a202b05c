"""The tools of Responses requests as the function tools that every backend takes, and the way back.

A ``namespace`` holds functions: each is offered as ``namespace__name``, and a call of it is given back with its
namespace and name apart. What is said about the namespace goes to the first of them. A ``custom`` tool takes free text: it is offered as a function with one string, ``input``.
Tools of other kinds are run by whoever hosts the model (web search, say); a self-hosted one cannot, so they are left
out and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from forge.core.remembered import remembered
from forge.core.request import Protocol, Tool, ToolChoice
from forge.errors import RequestError
from forge.wire.json_text import MAX_DEPTH, depth_within, dumps, loads, well_formed

CUSTOM_INPUT = "input"
"""The one argument of the function that stands for a custom tool."""

_READ = frozenset({"type", "name", "description", "parameters", "strict", "format"})
_MODES = ("auto", "none", "required")
_CUSTOM_PARAMETERS = {
    "type": "object",
    "properties": {
        CUSTOM_INPUT: {"type": "string", "description": "The whole input of the tool, as plain text."}
    },
    "required": [CUSTOM_INPUT],
    "additionalProperties": False,
}


class Label(Struct, frozen=True):
    """What a function that is offered to the model is called by the caller."""

    name: str
    namespace: str | None = None
    custom: bool = False


class Offer(Struct, frozen=True):
    """What the model is offered. ``labels`` has the functions whose calls are not given back as they are.

    ``left_out`` names what cannot be offered.
    """

    tools: tuple[Tool, ...] = ()
    labels: Mapping[str, Label] = {}
    left_out: tuple[str, ...] = ()


def wire_name(name: str, namespace: str | None) -> str:
    """The name under which a tool is offered. It depends on nothing else, so earlier calls always find it."""
    if not namespace:
        return name
    return f"{namespace}{name}" if namespace.endswith("__") else f"{namespace}__{name}"


@remembered(maxsize=32)
def read_tools(data: bytes) -> Offer:
    """The offer that an array of tools makes. A client sends the same array with each request: it is read once.

    Raises:
        RequestError: a tool is not written as it must be; names it.
    """
    tools: dict[str, Tool] = {}
    labels: dict[str, Label] = {}
    left_out: list[str] = []
    for entry, label, where in _entries(_value(data, "tools"), "tools", None):
        if label is None:
            left_out.append(f"tools of type {entry['type']!r}")
            continue
        name = wire_name(label.name, label.namespace)
        if name in tools:
            left_out.append(f"the second tool called {name!r}")
            continue
        tools[name] = _custom(name, entry) if label.custom else _function(name, entry, where)
        hints = (hint for hint, value in entry.items() if hint not in _READ and value not in (None, False))
        left_out += (f"{hint!r} of tools" for hint in hints)
        if label.custom or label.namespace:
            labels[name] = label
    return Offer(tuple(tools.values()), labels, tuple(dict.fromkeys(left_out)))


def _value(data: bytes, param: str) -> Any:
    try:
        return loads(data)
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None


def _entries(
    entries: Any, param: str, namespace: str | None
) -> Iterator[tuple[dict[str, Any], Label | None, str]]:
    """Each tool with its label (None: it cannot be offered) and the path at which it stands."""
    if not isinstance(entries, list):
        raise RequestError(f"'{param}' must be a list", param)
    for i, entry in enumerate(entries):
        where = f"{param}[{i}]"
        if not isinstance(entry, dict):
            raise RequestError(f"'{where}' must be an object", where)
        kind = entry.get("type")
        if not isinstance(kind, str):
            raise RequestError(f"'{where}.type' must be a string", f"{where}.type")
        if kind == "namespace" and namespace is None:
            name = _name(entry, where)
            yield from _entries(_introduced(entry.get("tools"), name, entry), f"{where}.tools", name)
        elif kind in ("function", "custom"):
            yield entry, Label(_name(entry, where), namespace, kind == "custom"), where
        else:
            yield entry, None, where


def _introduced(tools: Any, name: str, namespace: dict[str, Any]) -> Any:
    """The tools of a namespace, what is said about it in front of what is said about the first one."""
    about = namespace.get("description")
    if not isinstance(about, str) or not about or not isinstance(tools, list):
        return tools
    introduced = list(tools)
    for i, tool in enumerate(tools):
        if isinstance(tool, dict) and tool.get("type") in ("function", "custom"):
            own = tool.get("description")
            text = f"{name}: {about}"
            introduced[i] = {
                **tool,
                "description": f"{text}\n\n{own}" if isinstance(own, str) and own else text,
            }
            break
    return introduced


def _name(entry: dict[str, Any], where: str) -> str:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise RequestError(f"'{where}.name' must be a string", f"{where}.name")
    return well_formed(name)


def _function(name: str, entry: dict[str, Any], where: str) -> Tool:
    parameters = entry.get("parameters")
    if not depth_within(parameters):
        path = f"{where}.parameters"
        raise RequestError(f"'{path}' is nested more than {MAX_DEPTH} deep", path)
    function: dict[str, Any] = {"name": name}
    for field in ("description", "parameters", "strict"):
        if entry.get(field) is not None:
            function[field] = entry[field]
    return _tool(function)


def _custom(name: str, entry: dict[str, Any]) -> Tool:
    description = entry.get("description")
    pieces = [description] if isinstance(description, str) and description else []
    form = entry.get("format")
    if isinstance(form, dict) and isinstance(form.get("definition"), str):
        syntax = form.get("syntax")
        kind = f"{syntax} grammar" if isinstance(syntax, str) else "grammar"
        pieces.append(f"The input must follow this {kind}:\n{form['definition']}")
    return _tool({"name": name, "description": "\n\n".join(pieces), "parameters": _CUSTOM_PARAMETERS})


def _tool(function: dict[str, Any]) -> Tool:
    description = function.get("description")
    parameters = function.get("parameters")
    return Tool(
        name=function["name"],
        description=description if isinstance(description, str) else "",
        # A schema that is no object says nothing that can be checked; the backend gets it as it came.
        parameters=parameters if isinstance(parameters, dict) else {},
        raw=Raw(dumps({"type": "function", "function": function})),
        protocol=Protocol.OPENAI,
    )


# -- tool_choice --------------------------------------------------------------------------------------------


def choose(raw: bytes, offer: Offer) -> tuple[tuple[Tool, ...], ToolChoice | None]:
    """The tools to offer and the choice among them, from a ``tool_choice``.

    Raises:
        RequestError: it is not one, or asks for what cannot be offered.
    """
    choice = _value(raw, "tool_choice")
    tools = offer.tools
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = choice.get("tools")
        if not isinstance(allowed, list):
            raise RequestError("'tool_choice.tools' must be a list", "tool_choice.tools")
        wanted = {_wanted(tool, offer) for tool in allowed if isinstance(tool, dict)}
        tools = tuple(tool for tool in tools if tool.name in wanted)
        choice = choice.get("mode", "auto")
    elif isinstance(choice, dict):
        return tools, _named(choice, offer)
    if choice not in _MODES:
        raise RequestError(
            '\'tool_choice\' must be "auto", "none", "required" or name a function', "tool_choice"
        )
    if not tools:
        if choice == "required":
            raise RequestError(
                "'tool_choice' asks for a call, and there is no tool that this backend's model can call",
                "tool_choice",
            )
        return (), None
    return tools, ToolChoice(choice)


def _named(choice: dict[str, Any], offer: Offer) -> ToolChoice:
    kind = choice.get("type")
    if kind not in ("function", "custom"):
        raise RequestError(
            f"'tool_choice' asks for {kind!r}, which only OpenAI's own service can run", "tool_choice"
        )
    name = _wanted(choice, offer)
    if name is None:
        raise RequestError("'tool_choice.name' must be a string", "tool_choice.name")
    return ToolChoice("named", name)


def _wanted(choice: dict[str, Any], offer: Offer) -> str | None:
    """The offered name of the tool that ``choice`` names, or the name itself."""
    name, namespace = choice.get("name"), choice.get("namespace")
    if not isinstance(name, str):
        return None
    if isinstance(namespace, str) and namespace:
        return wire_name(name, namespace)
    if all(tool.name != name for tool in offer.tools):
        inside = [wire for wire, label in offer.labels.items() if label.name == name]
        if len(inside) == 1:
            return inside[0]
    return name


def custom_input(arguments: str) -> str:
    """The input of a custom tool, from the arguments of the function that stands for it.

    Arguments without it are given as they are: the caller's own error then tells the model what it wants.
    """
    try:
        value = msgspec.json.decode(arguments, type=dict[str, Any]).get(CUSTOM_INPUT)
    except (msgspec.DecodeError, RecursionError):
        return arguments
    return value if isinstance(value, str) else arguments
