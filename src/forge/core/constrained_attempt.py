"""One attempt in which the model can write nothing but a call of an offered tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import msgspec

from forge.clients.backend import Backend
from forge.clients.base import TokenUsage, decode_tool_args, format_tool
from forge.core.calls import CallSource, LLMResponse, TextResponse, ToolCall
from forge.core.events import CallDelta, Delta, TextDelta, Usage
from forge.core.request import Constraint, Request
from forge.dialects.reply import RejectedSegment, Reply
from forge.engine.constrained import ConstrainedReader
from forge.engine.ladder import SHORT_TEXT
from forge.schema.spec import as_tools
from forge.wire.json_text import dumps
from forge.wire.openai import decode_request


class Answered(NamedTuple):
    """What came back. ``broken`` is set where a constrained answer gives no call although it is one: it was cut off,
    perhaps by a bound of the constraint itself, in which case its text must not be read as a call again.
    """

    response: LLMResponse
    broken: RejectedSegment | None = None


async def can_constrain(client: object) -> bool:
    """Whether this client's backend can restrict decoding; asked of nothing but a real :class:`Backend`."""
    return isinstance(client, Backend) and (await client.capabilities()).constrains


async def constrained_attempt(
    client: Backend,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[object],
    options: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> Answered:
    """Ask for a call of one of ``tools``; usage is published as by the client's own ``send``.

    Args:
        client: a backend whose capabilities say that it constrains.
        messages: the conversation in OpenAI's shape.
        tools: the tools offered, described to the model as in every other attempt so that the prompt stays the same.
        options: sampling and other fields of the request body.
        headers: credentials of this call.

    Raises:
        BackendError: the backend answered with an error.
        BackendUnreachableError: no connection, or it broke.
        StreamError: the answer ended too early.
    """
    body = {**options, "tools": [format_tool(tool) for tool in tools], "messages": list(messages)}
    request = decode_request(dumps(body))
    offered = as_tools(tools)
    text, usage, reply = "", Usage(), Reply()
    calls: list[ToolCall] = []
    # What cannot be malformed can still be cut off, when the model finds no end to a text; then texts are bounded.
    for longest_text in (None, SHORT_TEXT):
        constraint = Constraint(tools=offered, longest_text=longest_text)
        text, calls, used = await _read(
            client, msgspec.structs.replace(request, constraint=constraint), headers
        )
        usage = _sum(usage, used)
        if calls:
            break
        reader = ConstrainedReader(offered, longest_text=longest_text)
        reader.feed(text)
        reply = reader.finish()
        if reply.calls:
            break
    if usage.prompt_tokens:
        TokenUsage(
            usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens + usage.completion_tokens
        )
    broken = reply.rejected[0] if reply.rejected and not calls else None
    return Answered(calls or reply.calls or TextResponse(text), broken)


async def _read(
    client: Backend, request: Request, headers: Mapping[str, str] | None
) -> tuple[str, list[ToolCall], Usage]:
    """The text of one answer, its calls where the backend forces structured ones, and its usage."""
    text: list[str] = []
    calls: dict[int, ToolCall] = {}
    usage = Usage()
    exchange = cast("AsyncGenerator[Delta, None]", client.exchange(request, headers=headers))
    async with aclosing(exchange) as deltas:
        async for delta in deltas:
            if isinstance(delta, TextDelta):
                text.append(delta.text)
            elif isinstance(delta, CallDelta):
                call = calls.setdefault(delta.index, ToolCall("", "", source=CallSource("native")))
                call.tool += delta.name or ""
                call.id = call.id or delta.id
                call.args += delta.arguments
            elif isinstance(delta, Usage):
                usage = delta
    for call in calls.values():
        call.args = decode_tool_args(call.args)
    return "".join(text), [calls[index] for index in sorted(calls)], usage


def _sum(first: Usage, second: Usage) -> Usage:
    # The context is as full as the last prompt was; generation adds up.
    return Usage(
        prompt_tokens=second.prompt_tokens or first.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
    )
