"""Requests of Anthropic's Messages API, decoded: strict about what is wrong, tolerant of null, the caller's bytes kept.

Messages, system prompt and tools keep their own bytes, so that a backend of the same protocol gets them as they
came; the parts that are read here serve everybody else (:mod:`forge.wire.anthropic_to_openai`). The system prompt is
a message before the others, whose ``raw`` is the value of the ``system`` field.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from forge.core.remembered import remembered
from forge.core.request import (
    Call,
    ChatMessage,
    Opaque,
    Part,
    Protocol,
    Reasoning,
    Request,
    Result,
    Text,
    Tool,
    ToolChoice,
)
from forge.errors import RequestError
from forge.wire.conversations import Beginning, Conversations
from forge.wire.fields import read_field
from forge.wire.json_text import MAX_DEPTH, depth_within, loads, well_formed
from forge.wire.openai_request import top_level_fields

MEDIA_FOLLOWS = "(see the attachment below)"
"""Stands in a tool's result where it had an image or a document, which other protocols cannot put there."""

_ROLES = ("user", "assistant", "system")
_CHOICES = {"auto": "auto", "any": "required", "none": "none", "tool": "named"}
_NUMBERS: dict[str, tuple[type, ...]] = {
    "max_tokens": (int,),
    "temperature": (int, float),
    "top_p": (int, float),
    "top_k": (int,),
}
_OBJECTS = ("metadata", "thinking", "output_config", "context_management")
_MOST_TOOLS = 32


class _Message(Struct):
    role: str
    content: str | list[Raw]


class _Block(Struct):
    # No ``Raw | None``: msgspec takes only null for that.
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw()
    tool_use_id: str | None = None
    content: Raw = Raw()
    is_error: bool | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


_decode_message = msgspec.json.Decoder(_Message).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_string = msgspec.json.Decoder(str).decode
_conversations = Conversations()


def decode_request(body: bytes) -> Request:
    """The neutral form of a Messages body, its options under their own names.

    ``disable_parallel_tool_use`` is kept as the option ``parallel_tool_calls``, since the engine reads it.

    Raises:
        RequestError: what is wrong, with the path of the field in ``param``.
    """
    return _conversations.decode(body, _decode)


def _decode(body: bytes, known: Beginning | None) -> Request:
    fields = top_level_fields(body if known is None else known.shortened(body))
    fields = {name: raw for name, raw in fields.items() if bytes(raw) != b"null"}
    messages = _messages(fields.pop("messages", None), body, known)
    system = fields.pop("system", None)
    if system is not None:
        messages = (_system(system), *messages)
    tools = fields.pop("tools", None)
    model = fields.pop("model", None)
    stream = fields.pop("stream", None)
    choice = fields.pop("tool_choice", None)
    if stream is not None and bytes(stream) not in (b"true", b"false"):
        raise RequestError("'stream' must be true or false", "stream")
    _check(fields)
    tool_choice = None
    if choice is not None:
        tool_choice, single = _tool_choice(choice)
        if single:
            fields["parallel_tool_calls"] = Raw(b"false")
    return Request(
        messages=messages,
        tools=_tools(bytes(tools)) if tools is not None else (),
        tool_choice=tool_choice,
        model=_string(model, "model") if model is not None else None,
        stream=stream is not None and bytes(stream) == b"true",
        options=fields,
        protocol=Protocol.ANTHROPIC,
    )


def _check(fields: dict[str, Raw]) -> None:
    for name, kinds in _NUMBERS.items():
        if name in fields:
            value = loads(bytes(fields[name]))
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise RequestError(f"'{name}' must be {'a number' if float in kinds else 'an integer'}", name)
    limit = loads(bytes(fields.get("max_tokens", Raw(b"1"))))
    if limit < 1:
        raise RequestError("'max_tokens' must be at least 1", "max_tokens")
    for name in _OBJECTS:
        if name in fields and bytes(fields[name])[:1] != b"{":
            raise RequestError(f"'{name}' must be an object", name)
    stops = loads(bytes(fields["stop_sequences"])) if "stop_sequences" in fields else []
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise RequestError("'stop_sequences' must be a list of strings", "stop_sequences")


def _string(raw: Raw, param: str) -> str:
    try:
        return _decode_string(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RequestError(f"'{param}' must be a string", param) from None


def _list(raw: Raw | bytes, param: str) -> list[Raw]:
    try:
        return _decode_list(raw)
    except (msgspec.DecodeError, RecursionError):
        raise RequestError(f"'{param}' must be a list", param) from None


# -- messages -----------------------------------------------------------------------------------------------


def _system(raw: Raw) -> ChatMessage:
    data = bytes(raw)
    if data[:1] == b'"':
        parts: list[Part] = [Text(_string(raw, "system"))]
    elif data[:1] == b"[":
        parts = [
            part for i, block in enumerate(_list(raw, "system")) for part in _parts(block, f"system[{i}]")
        ]
    else:
        raise RequestError("'system' must be a string or a list of text blocks", "system")
    return ChatMessage(role="system", parts=tuple(parts), raw=raw, protocol=Protocol.ANTHROPIC)


def _messages(raw: Raw | None, body: bytes, known: Beginning | None) -> tuple[ChatMessage, ...]:
    if raw is None:
        raise RequestError("'messages' is missing: give a list of messages", "messages")
    return _conversations.read(body, known, _list(raw, "messages"), _message)


def _message(raw: Raw, param: str) -> ChatMessage:
    message = read_field(_decode_message, raw, param)
    if message.role not in _ROLES:
        where = f"{param}.role"
        raise RequestError(f"'{where}' must be one of {', '.join(_ROLES)}, not {message.role!r}", where)
    if isinstance(message.content, str):
        parts: list[Part] = [Text(message.content)] if message.content else []
    else:
        blocks = enumerate(message.content)
        parts = [part for i, block in blocks for part in _parts(block, f"{param}.content[{i}]")]
    return ChatMessage(role=message.role, parts=tuple(parts), raw=raw, protocol=Protocol.ANTHROPIC)


def _parts(raw: Raw, param: str) -> list[Part]:
    block = read_field(_decode_block, raw, param)
    if block.type == "text":
        return [Text(_needed(block.text, f"{param}.text"))]
    if block.type == "tool_use":
        name = _needed(block.name, f"{param}.name")
        return [Call(id=_needed(block.id, f"{param}.id"), name=name, arguments=_input(block.input))]
    if block.type == "tool_result":
        return _result(block, param)
    if block.type == "thinking":
        return [Reasoning(_needed(block.thinking, f"{param}.thinking"), signature=block.signature or "")]
    if block.type == "redacted_thinking" and block.data:
        return [Reasoning("", redacted=block.data)]
    return [Opaque(raw)]


def _needed(value: str | None, param: str) -> str:
    if value is None:
        raise RequestError(f"'{param}' is missing", param)
    return value


def _input(raw: Raw) -> str:
    """A call's arguments as JSON text; what is no object is for whoever sends it to mend."""
    data = bytes(raw)
    return "{}" if data in (b"", b"null") else data.decode()


def _result(block: _Block, param: str) -> list[Part]:
    """A tool's result, its text as one string, and after it whatever else it held."""
    call_id = _needed(block.tool_use_id, f"{param}.tool_use_id")
    data = bytes(block.content) or b"null"
    others: list[Part] = []
    if data == b"null":
        text = ""
    elif data[:1] == b'"':
        text = _string(Raw(data), f"{param}.content")
    else:
        texts: list[str] = []
        for i, entry in enumerate(_list(data, f"{param}.content")):
            for part in _parts(entry, f"{param}.content[{i}]"):
                if isinstance(part, Text):
                    texts.append(part.text)
                elif isinstance(part, Opaque):
                    texts.append(MEDIA_FOLLOWS)
                    others.append(part)
        text = "\n".join(texts)
    return [Result(call_id=call_id, content=text, is_error=block.is_error is True), *others]


# -- tools --------------------------------------------------------------------------------------------------


@remembered(maxsize=_MOST_TOOLS)
def _tools(data: bytes) -> tuple[Tool, ...]:
    """The tools of one array. A client sends the same array with each request: it is read once."""
    return tuple(_tool(entry, f"tools[{i}]") for i, entry in enumerate(_list(data, "tools")))


def _tool(raw: Raw, param: str) -> Tool:
    try:
        tool = loads(bytes(raw))
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None
    if not isinstance(tool, dict):
        raise RequestError(f"'{param}' must be an object", param)
    kind = "custom" if tool.get("type") is None else tool["type"]
    if not isinstance(kind, str):
        raise RequestError(f"'{param}.type' must be a string", f"{param}.type")
    name = tool.get("name")
    if kind != "custom":
        # Some of Anthropic's own kinds (a toolset of an MCP server) have no name.
        known = well_formed(name) if isinstance(name, str) and name else kind
        return Tool(name=known, kind=kind, raw=raw, protocol=Protocol.ANTHROPIC)
    if not isinstance(name, str) or not name:
        raise RequestError(f"'{param}.name' must be a string", f"{param}.name")
    schema = tool.get("input_schema")
    if schema is not None and not isinstance(schema, dict):
        raise RequestError(f"'{param}.input_schema' must be an object", f"{param}.input_schema")
    if not depth_within(schema):
        where = f"{param}.input_schema"
        raise RequestError(f"'{where}' is nested more than {MAX_DEPTH} deep", where)
    description = tool.get("description")
    return Tool(
        name=well_formed(name),
        description=description if isinstance(description, str) else "",
        parameters=schema or {},
        raw=raw,
        protocol=Protocol.ANTHROPIC,
    )


def _tool_choice(raw: Raw) -> tuple[ToolChoice, bool]:
    """The choice, and whether at most one call is wanted."""
    choice: Any = loads(bytes(raw))
    kind = choice.get("type") if isinstance(choice, dict) else None
    if not isinstance(kind, str) or kind not in _CHOICES:
        words = "'tool_choice' must be an object whose type is auto, any, tool or none"
        raise RequestError(words, "tool_choice")
    name = choice.get("name") if kind == "tool" else None
    if kind == "tool" and not isinstance(name, str):
        raise RequestError("'tool_choice.name' must name a tool", "tool_choice.name")
    return ToolChoice(_CHOICES[kind], name), choice.get("disable_parallel_tool_use") is True
