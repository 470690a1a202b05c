"""Chat-completions requests, encoded. What the caller sent goes out as the caller's bytes.

Messages come last in the body, so that the body of attempt k+1 starts with the bytes of attempt k up to the
bracket that closes its messages: a retry only appends, and a server's prompt cache keeps the whole prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

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
    written_bytes,
)
from forge.core.same_objects import OfSameObjects
from forge.errors import RequestError
from forge.wire.arguments import sound_arguments
from forge.wire.beginnings import Beginnings
from forge.wire.json_text import dumps, is_json
from forge.wire.openai_choice import write_choice

_OWNED = frozenset({"messages", "tools", "tool_choice", "model", "stream", "stream_options"})
_NO_SCHEMA = {"type": "object", "properties": {}}
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_FUNCTION_TYPE = re.compile(rb'"type"\s*:\s*"function"')
_NO_FIELDS: Mapping[str, bytes] = {}


def encode_request(
    request: Request, *, defaults: Mapping[str, bytes] = _NO_FIELDS, tail: Mapping[str, bytes] = _NO_FIELDS
) -> bytes:
    """The body of ``request``.

    Args:
        request: ``constraint`` is not read: how to constrain is the client's knowledge, given in ``tail``.
        defaults: JSON values of fields for which the caller gave none (or null), such as sampling.
        tail: JSON values of fields that follow the messages. They may differ from one attempt to the next.

    Raises:
        RequestError: a message holds a content part of another protocol.
    """
    # One list of pieces, joined once: a long conversation is copied no oftener than it has to be.
    pieces: list[bytes | Raw] = [b"{"]
    if request.model is not None:
        pieces += (b'"model":', dumps(request.model), b",")
    for name, value in _options(request, defaults, tail).items():
        pieces += (dumps(name), b":", value, b",")
    if request.stream:
        options = _stream_options(request.options.get("stream_options"))
        pieces += (b'"stream":true,"stream_options":', options, b",")
    if request.tools:
        pieces += (b'"tools":', _encode_tools(request.tools), b",")
    if request.tool_choice is not None:
        pieces += (b'"tool_choice":', dumps(write_choice(request.tool_choice, request.tools)), b",")
    pieces.append(b'"messages":[')
    for number, message in enumerate(encode_messages(request.messages)):
        pieces += (b",", message) if number else (message,)
    pieces.append(b"]")
    for name, value in tail.items():
        pieces += (b",", dumps(name), b":", value)
    pieces.append(b"}")
    return b"".join(pieces)


def _options(
    request: Request, defaults: Mapping[str, bytes], tail: Mapping[str, bytes]
) -> dict[str, bytes | Raw]:
    """The fields without a neutral name: the caller's, and the defaults where it gave none."""
    options: dict[str, bytes | Raw] = {
        name: raw for name, raw in request.options.items() if name not in _OWNED
    }
    for name, value in defaults.items():
        given = options.get(name)
        if given is None or bytes(given) == b"null":
            options[name] = value
    for name in tail:
        options.pop(name, None)
    if request.model is not None:
        options.pop("model", None)
    return options


def _stream_options(raw: Raw | None) -> bytes:
    """The caller's stream options with usage switched on: the engine always needs to know it."""
    try:
        options: dict[str, Raw] = _decode_fields(raw) if raw is not None else {}
    except msgspec.DecodeError:
        options = {}
    return dumps({**options, "include_usage": True})


def encode_tool(tool: Tool) -> bytes | Raw:
    """One tool: the caller's bytes, or built from the neutral form."""
    if tool.raw is not None and tool.protocol is Protocol.OPENAI:
        return tool.raw
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or _NO_SCHEMA,
    }
    return dumps({"type": "function", "function": function})


def _encode_all(tools: tuple[Tool, ...]) -> bytes:
    return b"[%b]" % b",".join([encode_tool(tool) for tool in tools])


_encode_tools: Final = OfSameObjects[Tool, bytes](_encode_all, size=16, written=written_bytes)
"""The array of tools, put together once for as long as the same ones keep coming."""


# -- messages -----------------------------------------------------------------------------------------------


def encode_messages(messages: Iterable[ChatMessage]) -> list[bytes | Raw]:
    """Wire messages, those that need no change as they came. Each depends on its own message alone, so a longer history only adds to a shorter one."""
    messages = tuple(messages)
    known = _beginnings.find(messages)
    encoded: list[bytes | Raw] = [] if known is None else known.state.copy()
    done = 0 if known is None else len(known.messages)
    if len(messages) > done:
        for message in messages[done:-1]:
            encoded += _encoded(message)
        _beginnings.remember(known, messages[:-1], encoded.copy)
        encoded += _encoded(messages[-1])
    return encoded


def _encoded(message: ChatMessage) -> Iterable[bytes | Raw]:
    if message.raw is None or message.protocol is not Protocol.OPENAI:
        return _built(message)
    return (message.raw if _sound(message, message.raw) else _with_sound_calls(message.raw),)


_beginnings: Beginnings[list[bytes | Raw]] = Beginnings()


def mended_messages(messages: Iterable[ChatMessage], *, always: bool = False) -> bytes | None:
    """The JSON array of a caller's messages where a call in them had to be mended; None where they may stay.

    ``always``: also where none had to be.
    """
    messages = tuple(messages)
    if not (always or any(map(_is_broken, messages))):
        return None
    return b"[%b]" % b",".join(encode_messages(messages))


def _is_broken(message: ChatMessage) -> bool:
    """Whether a call in a message that came as it is has to be mended."""
    raw = message.raw
    return raw is not None and message.protocol is Protocol.OPENAI and not _sound(message, raw)


def _sound(message: ChatMessage, raw: Raw) -> bool:
    calls = [part for part in message.parts if isinstance(part, Call)]
    if not calls:
        return True
    # Quotes inside strings are escaped, so this finds the calls' own members; content parts are of other types.
    typed = len(_FUNCTION_TYPE.findall(raw))
    return typed >= len(calls) and all(is_json(call.arguments) for call in calls)


def _with_sound_calls(raw: Raw) -> bytes:
    """The message with those calls mended that no server would take; all else as it was.

    llama-server fails the whole request (500) when an earlier call has no type or arguments that are not JSON.
    """
    message = _decode_fields(raw)
    message["tool_calls"] = Raw(b"[%b]" % b",".join(map(_sound_call, _decode_list(message["tool_calls"]))))
    return dumps(message)


def _sound_call(raw: Raw) -> bytes:
    call = _decode_fields(raw)
    if bytes(call.get("function", b"null")) == b"null":
        return bytes(raw)  # of another kind
    function = _decode_fields(call["function"])
    value = msgspec.json.decode(function.get("arguments", Raw(b'""')))
    broken = value is None or (isinstance(value, str) and not is_json(value))
    if broken:
        function["arguments"] = Raw(dumps(sound_arguments(value or "")))
        call["function"] = Raw(dumps(function))
    typed = {"type": Raw(b'"function"'), **call}
    return dumps(typed) if broken or "type" not in call else bytes(raw)


def _built(message: ChatMessage) -> Iterable[bytes]:
    """A message made from its parts; each tool result is a message of its own on this wire."""
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            yield dumps(_result(part))
        else:
            rest.append(part)
    if rest or not message.parts:
        yield dumps(_from_parts(message, rest))


def _result(result: Result) -> dict[str, str]:
    fields = {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    if result.name:
        fields["name"] = result.name
    return fields


def _from_parts(message: ChatMessage, parts: list[Part]) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": _content(message, parts)}
    calls: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Reasoning):
            fields[part.field] = fields.get(part.field, "") + part.text
        elif isinstance(part, Call):
            function = {"name": part.name, "arguments": sound_arguments(part.arguments)}
            calls.append({"id": part.id, "type": "function", "function": function})
    if calls:
        fields["tool_calls"] = calls
    return fields


def _content(message: ChatMessage, parts: list[Part]) -> str | list[Any]:
    opaque = any(isinstance(part, Opaque) for part in parts)
    if not opaque:
        return "".join(part.text for part in parts if isinstance(part, Text))
    if message.protocol not in (None, Protocol.OPENAI):
        raise RequestError(
            f"a content part in the {message.protocol} protocol cannot be sent to this backend"
        )
    content: list[Any] = []
    for part in parts:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, Opaque):
            content.append(part.raw)
    return content
