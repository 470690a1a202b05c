"""Tool calling for templates that know no tools: the conversation rewritten into plain text.

Tools are described in the system message, calls become the JSON that the description asks for, results become
user messages. Every message is rewritten by itself and in place, so a longer conversation only adds to a shorter
one and a server's prompt cache keeps the prefix.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from forge.core.request import Call, ChatMessage, Opaque, Part, Reasoning, Request, Result, Text
from forge.prompts.tool_prompt import build_tool_prompt
from forge.repair.tolerant import read_json
from forge.wire.json_text import dumps

_SYSTEM_ROLES = ("system", "developer")


def as_prompted(request: Request) -> Request:
    """``request`` without tools, tool calls and tool results; what they said is in the messages' text."""
    messages = [message for given in request.messages for message in _plain(given)]
    guarded = [tool for tool in request.tools if tool.kind == "function"]
    offered = guarded and not (request.tool_choice and request.tool_choice.mode == "none")
    if offered:
        messages = _with_description(messages, build_tool_prompt(guarded))
    # OpenAI-shaped servers may refuse the field where there are no tools; the engine keeps to it in any case.
    options = {name: raw for name, raw in request.options.items() if name != "parallel_tool_calls"}
    return structs.replace(request, messages=tuple(messages), tools=(), tool_choice=None, options=options)


def _with_description(messages: list[ChatMessage], description: str) -> list[ChatMessage]:
    first = messages[0] if messages else None
    if first is None or first.role not in _SYSTEM_ROLES:
        return [ChatMessage(role="system", parts=(Text(description),)), *messages]
    text = _text(first.parts)
    joined = f"{text}\n\n{description}" if text else description
    return [ChatMessage(role=first.role, parts=(Text(joined),)), *messages[1:]]


def _plain(message: ChatMessage) -> Iterable[ChatMessage]:
    """The message itself where it is plain already, in its own bytes; else what it said, as text."""
    if not any(isinstance(part, Call | Result) for part in message.parts):
        if message.role == "tool":
            yield ChatMessage(role="user", parts=message.parts)
        else:
            yield message
        return
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            yield ChatMessage(role="user", parts=(Text(_result(part)),))
        elif isinstance(part, Text | Opaque):
            rest.append(part)
    calls = "\n".join(_call(part) for part in message.parts if isinstance(part, Call))
    if calls:
        rest = [Text(f"{text}\n{calls}" if (text := _text(rest)) else calls), *_opaque(rest)]
    if rest:
        role = "user" if message.role == "tool" else message.role
        yield ChatMessage(role=role, parts=tuple(rest), protocol=message.protocol)


def _opaque(parts: Iterable[Part]) -> list[Part]:
    return [part for part in parts if isinstance(part, Opaque)]


def _text(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text) and not isinstance(part, Reasoning))


def _call(call: Call) -> str:
    reading = read_json(call.arguments)
    arguments = reading.value if reading.closed else ({} if not call.arguments.strip() else call.arguments)
    return dumps({"tool": call.name, "args": arguments}).decode()


def _result(result: Result) -> str:
    of = f" of {result.name}" if result.name else ""
    state = "Error" if result.is_error else "Result"
    return f"{state}{of}:\n{result.content}"
