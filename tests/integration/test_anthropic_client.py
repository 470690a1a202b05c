"""The client of the Messages API against the real llama-server, which speaks it too. Shapes are asserted, not words."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from forge.clients.anthropic import AnthropicClient
from forge.core.events import Delta, Finish, Started, TextDelta, Usage
from forge.core.request import Call, ChatMessage, Request, Result, Text, Tool
from forge.embedded.launch import EmbeddedServer
from forge.errors import BackendError
from forge.wire.openai import decode_request

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

TOOL = Tool(
    name="get_weather",
    description="Current weather of a city",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
OPTIONS = decode_request(b'{"messages":[],"max_tokens":24,"temperature":0,"stop":["\\n\\n\\n"]}').options
ASK = Request(
    messages=(
        ChatMessage(role="system", parts=(Text("You are brief."),)),
        ChatMessage(role="user", parts=(Text("Weather in Rome?"),)),
        ChatMessage(role="assistant", parts=(Call("c1", "get_weather", '{"city": "Rome"}'),)),
        ChatMessage(role="tool", parts=(Result("c1", "20 C and sunny"),)),
        ChatMessage(role="user", parts=(Text("Is that warm?"),)),
    ),
    tools=(TOOL,),
    options=OPTIONS,
)


async def run(server: EmbeddedServer, request: Request) -> list[Delta]:
    client = AnthropicClient("smollm2", "", base_url=server.base_url, max_retries=0)
    try:
        return [delta async for delta in client.exchange(request)]
    finally:
        await client.aclose()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_conversation_with_a_call(embedded_server: EmbeddedServer, stream: bool) -> None:
    deltas = await run(embedded_server, structs.replace(ASK, stream=stream))

    assert isinstance(deltas[0], Started)
    assert any(isinstance(delta, TextDelta) and delta.text for delta in deltas)
    usage = [delta for delta in deltas if isinstance(delta, Usage)]
    assert usage[0].prompt_tokens > 50
    assert 0 < usage[0].completion_tokens <= 24
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason in ("stop", "length")


async def test_a_prompt_that_is_too_long(embedded_server: EmbeddedServer) -> None:
    request = Request(messages=(ChatMessage(role="user", parts=(Text("word " * 20_000),)),), stream=True)
    with pytest.raises(BackendError, match="context size") as caught:
        await run(embedded_server, request)
    assert caught.value.status_code == 400


async def test_leaving_a_stream_leaves_the_server_usable(embedded_server: EmbeddedServer) -> None:
    client = AnthropicClient("smollm2", "", base_url=embedded_server.base_url)
    exchange = client.exchange(structs.replace(ASK, stream=True))
    async with asyncio.timeout(60):
        await anext(exchange)
        await exchange.aclose()  # type: ignore[attr-defined]  # an async generator
        assert await client.send([{"role": "user", "content": "Say hi."}], passthrough={"max_tokens": 4})
    await client.aclose()
