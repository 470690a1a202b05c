"""One attempt in which the model can write nothing but a call of an offered tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import msgspec

from forge.clients.backend import Backend
from forge.clients.base import TokenUsage, decode_tool_args, format_tool
from forge.core.calls import CallSource, LLMResponse, TextResponse, ToolCall
from forge.core.events import CallDelta, Delta, Finish, TextDelta, Usage
from forge.core.request import Constraint, Request
from forge.dialects.reply import RejectedSegment
from forge.engine.constrained import ConstrainedReader
from forge.engine.runaway import next_text_bound
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
    written = 0
    text_bound: int | None = None
    while True:
        constraint = Constraint(tools=offered, longest_text=text_bound)
        answer = await _read(client, msgspec.structs.replace(request, constraint=constraint), headers)
        written += answer.usage.completion_tokens
        reader = ConstrainedReader(offered, longest_text=text_bound)
        reader.feed(answer.text)
        reply = reader.finish()
        again = next_text_bound(
            answer.text, cut_by_token_limit=answer.finish_reason == "length", cut_by_bound=reader.cut_by_bound
        )
        if answer.calls or reply.calls or text_bound is not None or again is None:
            break
        text_bound = again
    prompt = answer.usage.prompt_tokens  # the prompts are the same, so the context holds it once
    if prompt:
        TokenUsage(prompt, written, prompt + written)
    broken = reply.rejected[0] if reply.rejected and not answer.calls else None
    return Answered(answer.calls or reply.calls or TextResponse(answer.text), broken)


class _Answer(NamedTuple):
    """One answer as it was written; ``calls`` where the backend forces structured ones."""

    text: str
    calls: list[ToolCall]
    usage: Usage
    finish_reason: str


async def _read(client: Backend, request: Request, headers: Mapping[str, str] | None) -> _Answer:
    text: list[str] = []
    calls: dict[int, ToolCall] = {}
    usage = Usage()
    reason = "stop"
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
            elif isinstance(delta, Finish):
                reason = delta.reason
    for call in calls.values():
        call.args = decode_tool_args(call.args)
    return _Answer("".join(text), [calls[index] for index in sorted(calls)], usage, reason)
