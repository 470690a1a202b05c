"""Chat-completions requests, decoded: strict about what is wrong, tolerant of null, the caller's bytes kept."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

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
)
from forge.errors import RequestError
from forge.wire.conversations import Beginning, Conversations
from forge.wire.fields import read_field
from forge.wire.json_text import MAX_DEPTH, depth_within, loads, strict, well_formed
from forge.wire.openai_choice import read_choice
from forge.wire.openai_functions import as_tool_message, is_call, read_functions

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The names under which servers and clients send thinking, the most common first."""

_NULL = b"null"


class _Function(Struct):
    name: str | None = None
    arguments: Raw | UnsetType = UNSET


class _Call(Struct):
    id: str | None = None
    function: _Function | None = None
    type: str | None = None


class _Message(Struct):
    role: str
    content: str | list[Raw] | None = None
    tool_calls: list[Raw] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    function_call: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None


class _ContentPart(Struct):
    type: str | None = None
    text: str | None = None


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_call = msgspec.json.Decoder(_Call).decode
_decode_part = msgspec.json.Decoder(_ContentPart).decode
_decode_string = msgspec.json.Decoder(str).decode
_conversations = Conversations()


def decode_request(body: bytes) -> Request:
    """The neutral form of a chat-completions body.

    Messages and tools keep their own bytes (``raw``); every top-level field without a neutral name is kept,
    undecoded and in order, in ``options``. A body with lone surrogates or ``NaN`` is read with those replaced
    (U+FFFD, null), since no strict JSON parser, llama-server's included, would take them.

    Raises:
        RequestError: what is wrong, with the path of the field in ``param``.
    """
    return _conversations.decode(body, _decode)


def _decode(body: bytes, known: Beginning | None) -> Request:
    fields = top_level_fields(body if known is None else known.shortened(body))
    functions = "functions" in fields and read_functions(fields)
    messages = _messages(fields.pop("messages", None), body, known)
    tools_raw = _given(fields.pop("tools", None))
    model = _given(fields.pop("model", None))
    stream = _given(fields.pop("stream", None))
    choice = _given(fields.pop("tool_choice", None))
    if stream not in (None, b"true", b"false"):
        raise RequestError("'stream' must be true or false", "stream")
    tools = _tools(tools_raw) if tools_raw is not None else ()
    tool_choice = None
    if choice is not None:
        tool_choice, tools = read_choice(choice, tools)
    return Request(
        messages=messages,
        tools=tools,
        tool_choice=tool_choice,
        model=_string(model, "model") if model is not None else None,
        stream=stream == b"true",
        options=fields,
        functions=functions,
    )


def top_level_fields(body: bytes) -> dict[str, Raw]:
    """The fields of a body, undecoded and in order.

    Raises:
        RequestError: it is no JSON object.
    """
    try:
        return _decode_fields(body)
    except msgspec.ValidationError:
        raise RequestError("the request body must be a JSON object") from None
    except RecursionError:
        raise RequestError("the request body is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return _decode_fields(strict(body))
    except msgspec.ValidationError:
        raise RequestError("the request body must be a JSON object") from None
    except RecursionError:
        raise RequestError("the request body is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise RequestError(f"the request body is not valid JSON: {error}") from None
    except UnicodeDecodeError:
        raise RequestError("the request body is not valid UTF-8") from None


def _given(raw: Raw | None) -> bytes | None:
    """The bytes of a field, or None where it is absent or null."""
    if raw is None:
        return None
    data = bytes(raw)
    return None if data == _NULL else data


def _string(data: bytes, param: str) -> str:
    try:
        return _decode_string(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RequestError(f"'{param}' must be a string", param) from None


# -- messages -----------------------------------------------------------------------------------------------


def _messages(raw: Raw | None, body: bytes, known: Beginning | None) -> tuple[ChatMessage, ...]:
    data = _given(raw)
    if data is None:
        raise RequestError("'messages' is missing: give a list of messages", "messages")
    try:
        entries = _decode_list(data)
    except (msgspec.DecodeError, RecursionError):
        raise RequestError("'messages' must be a list", "messages") from None
    return _conversations.read(body, known, entries, _message)


def _message(raw: Raw, param: str) -> ChatMessage:
    message = read_field(_decode_message, raw, param)
    if message.role == "function" or (message.function_call is not None and _calls_function(message)):
        return _message(as_tool_message(raw), param)
    parts: list[Part] = []
    for field in REASONING_FIELDS if message.role == "assistant" else ():
        text = getattr(message, field)
        if isinstance(text, str) and text:
            parts.append(Reasoning(text, field))
            break
    content = _content(message.content, f"{param}.content")
    if message.role == "tool":
        parts.append(_result(message, content))
        parts.extend(part for part in content if isinstance(part, Opaque))
    else:
        parts.extend(content)
    for j, call in enumerate(message.tool_calls or ()):
        parts.append(_call(call, f"{param}.tool_calls[{j}]"))
    return ChatMessage(role=message.role, parts=tuple(parts), raw=raw, protocol=Protocol.OPENAI)


def _calls_function(message: _Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and is_call(message.function_call)


def _content(content: str | list[Raw] | None, param: str) -> list[Part]:
    if not content:
        return []
    if isinstance(content, str):
        return [Text(content)]
    return [_part(entry, f"{param}[{i}]") for i, entry in enumerate(content)]


def _part(raw: Raw, param: str) -> Part:
    data = bytes(raw)
    if data[:1] == b'"':
        return Text(_string(data, param))
    part = read_field(_decode_part, data, param)
    if part.text is not None and part.type in ("text", "input_text", "output_text", None):
        return Text(part.text)
    return Opaque(raw)


def _result(message: _Message, content: list[Part]) -> Result:
    text = "\n".join(part.text for part in content if isinstance(part, Text))
    return Result(call_id=message.tool_call_id or "", content=text, name=message.name or "")


def _call(raw: Raw, param: str) -> Part:
    call = read_field(_decode_call, raw, param)
    if call.function is None:
        if call.type not in (None, "function"):
            return Opaque(raw)
        raise RequestError(f"'{param}.function' is missing", f"{param}.function")
    if call.function.name is None:
        raise RequestError(f"'{param}.function.name' is missing", f"{param}.function.name")
    arguments = read_field(_arguments, call.function.arguments, f"{param}.function.arguments")
    return Call(id=call.id or "", name=call.function.name, arguments=arguments)


def _arguments(raw: Raw | UnsetType) -> str:
    """Arguments as JSON text: a string is the text, null is none, anything else is its own text."""
    data = b"" if isinstance(raw, UnsetType) else bytes(raw)
    if data == _NULL:
        return ""
    return _decode_string(data) if data[:1] == b'"' else data.decode()


# -- tools --------------------------------------------------------------------------------------------------


@remembered(maxsize=32)
def _tools(data: bytes) -> tuple[Tool, ...]:
    """The tools of one array. A client sends the same array with each request: it is read once."""
    try:
        entries = _decode_list(data)
    except (msgspec.DecodeError, RecursionError):
        raise RequestError("'tools' must be a list", "tools") from None
    return tuple(_tool(entry, f"tools[{i}]") for i, entry in enumerate(entries))


def _tool(raw: Raw, param: str) -> Tool:
    try:
        tool = loads(bytes(raw))
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None
    if not isinstance(tool, dict):
        raise RequestError(f"'{param}' must be an object", param)
    function = tool.get("function")
    kind = tool.get("type")
    if kind is None and isinstance(function, dict):
        kind = "function"
    if not isinstance(kind, str):
        raise RequestError(f"'{param}.type' must be a string", f"{param}.type")
    if kind != "function":
        return Tool(name=_other_name(tool, kind), kind=kind, raw=raw, protocol=Protocol.OPENAI)
    if not isinstance(function, dict):
        raise RequestError(f"'{param}.function' must be an object", f"{param}.function")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise RequestError(f"'{param}.function.name' must be a string", f"{param}.function.name")
    description = function.get("description")
    parameters = function.get("parameters")
    if not depth_within(parameters):
        where = f"{param}.function.parameters"
        raise RequestError(f"'{where}' is nested more than {MAX_DEPTH} deep", where)
    return Tool(
        name=well_formed(name),
        description=description if isinstance(description, str) else "",
        # A schema that is no object says nothing that can be checked; the backend gets it as it came.
        parameters=parameters if isinstance(parameters, dict) else {},
        raw=raw,
        protocol=Protocol.OPENAI,
    )


def _other_name(tool: dict[str, Any], kind: str) -> str:
    inner = tool.get(kind)
    for holder in (tool, inner):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return kind
