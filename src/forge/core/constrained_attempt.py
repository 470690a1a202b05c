"""One attempt in which the model can write nothing but a call of an offered tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import msgspec

from forge.clients.backend import Backend
from forge.clients.base import TokenUsage, format_tool
from forge.core.calls import LLMResponse, TextResponse
from forge.core.events import CallDelta, Delta, TextDelta, Usage
from forge.core.request import Constraint
from forge.engine.constrained import ConstrainedReader
from forge.schema.spec import as_tools
from forge.wire.json_text import dumps
from forge.wire.openai import decode_request


async def can_constrain(client: object) -> bool:
    """Whether this client's backend can restrict decoding; asked of nothing but a real :class:`Backend`."""
    return isinstance(client, Backend) and (await client.capabilities()).constrains


async def constrained_attempt(
    client: Backend,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[object],
    options: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> LLMResponse:
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
    request = msgspec.structs.replace(
        decode_request(dumps(body)), constraint=Constraint(tools=as_tools(tools))
    )
    text: list[str] = []
    exchange = cast("AsyncGenerator[Delta, None]", client.exchange(request, headers=headers))
    async with aclosing(exchange) as deltas:
        async for delta in deltas:
            if isinstance(delta, TextDelta):
                text.append(delta.text)
            elif isinstance(delta, CallDelta):
                text.append(delta.arguments)
            elif isinstance(delta, Usage):
                prompt, completion = delta.prompt_tokens, delta.completion_tokens
                TokenUsage(prompt, completion, prompt + completion)
    reader = ConstrainedReader(tools)
    reader.feed("".join(text))
    return reader.finish().calls or TextResponse("".join(text))
