"""The llama-server client against the real server. Shapes are asserted, not words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from forge.clients.llamafile import LlamafileClient
from forge.core.events import Delta, Finish, Started, TextDelta, Usage
from forge.core.request import Call, ChatMessage, Constraint, Request, Result, Text, Tool
from forge.embedded.launch import EmbeddedServer
from forge.errors import BackendError
from forge.wire.openai import decode_request

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

TOOL = Tool(
    name="get_weather",
    description="Current weather of a city",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 30}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
OTHER = Tool(name="tell_time", description="The time of day", parameters={"type": "object", "properties": {}})
OPTIONS = decode_request(b'{"messages":[],"max_tokens":96,"temperature":0}').options
ASK = Request(
    messages=(ChatMessage(role="user", parts=(Text("What is the weather in Paris?"),)),),
    tools=(TOOL, OTHER),
    options=OPTIONS,
)
SERVERS = pytest.mark.parametrize("server", ["embedded_server", "toolless_server"], indirect=True)
STREAM = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


@pytest.fixture
def server(
    request: pytest.FixtureRequest, embedded_server: EmbeddedServer, toolless_server: EmbeddedServer
) -> EmbeddedServer:
    """The server that the test's parameter names; both run anyway, since an async fixture cannot be asked for late."""
    return {"embedded_server": embedded_server, "toolless_server": toolless_server}[request.param]


async def run(server: EmbeddedServer, request: Request) -> list[Delta]:
    client = LlamafileClient("model.gguf", f"{server.base_url}/v1")
    try:
        return [delta async for delta in client.exchange(request)]
    finally:
        await client.aclose()


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def usage_of(deltas: list[Delta]) -> Usage:
    (usage,) = [delta for delta in deltas if isinstance(delta, Usage)]
    return usage


async def test_what_the_server_can_do(
    embedded_server: EmbeddedServer, toolless_server: EmbeddedServer
) -> None:
    able = []
    for server in (embedded_server, toolless_server):
        client = LlamafileClient("model.gguf", f"{server.base_url}/v1")
        able.append(await client.capabilities())
        assert await client.get_context_length() == able[-1].context_length
        await client.aclose()

    assert [one.native_tools for one in able] == [True, False]
    assert all(one.context_length for one in able)


@SERVERS
@STREAM
async def test_a_turn(server: EmbeddedServer, stream: bool) -> None:
    deltas = await run(server, structs.replace(ASK, stream=stream))

    assert isinstance(deltas[0], Started)
    assert isinstance(deltas[-1], Finish)
    assert "timings" in deltas[-1].extra
    assert usage_of(deltas).completion_tokens > 0


@SERVERS
@STREAM
async def test_a_constrained_turn_is_a_call_without_runs_of_white_space(
    server: EmbeddedServer, stream: bool
) -> None:
    constrained = structs.replace(ASK, stream=stream, constraint=Constraint(tools=ASK.tools))

    deltas = await run(server, constrained)

    call: dict[str, Any] = json.loads(text_of(deltas))
    assert call["name"] in ("get_weather", "tell_time")
    assert isinstance(call["arguments"], dict)
    assert not any(run_on in text_of(deltas) for run_on in ("\n", "\t", "   "))


async def test_a_constrained_second_attempt_finds_its_prompt_in_the_cache(
    embedded_server: EmbeddedServer,
) -> None:
    correction = (
        ChatMessage(role="assistant", parts=(Call("c1", "get_weather", "{oops"),)),
        ChatMessage(role="tool", parts=(Result("c1", "The arguments are not JSON.", "get_weather"),)),
    )
    second = structs.replace(
        ASK, messages=(*ASK.messages, *correction), constraint=Constraint(tools=ASK.tools)
    )

    first = usage_of(await run(embedded_server, ASK))
    again = usage_of(await run(embedded_server, second))

    # Up to the point where the first prompt asks for an answer.
    assert again.cached_tokens >= first.prompt_tokens - 8


async def test_a_schema_that_no_grammar_can_say_does_not_fail_the_turn(
    embedded_server: EmbeddedServer,
) -> None:
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}, "b": {"pattern": "^(?=x)("}}}
    hard = Tool(name="hard", parameters=parameters)
    request = structs.replace(ASK, tools=(TOOL,), constraint=Constraint(tools=(TOOL, hard)))

    deltas = await run(embedded_server, request)

    assert isinstance(deltas[-1], Finish)


async def test_the_servers_own_words_about_a_prompt_that_is_too_long(embedded_server: EmbeddedServer) -> None:
    long = ChatMessage(role="user", parts=(Text("word " * 40_000),))

    with pytest.raises(BackendError, match="exceeds the available context") as caught:
        await run(embedded_server, structs.replace(ASK, messages=(long,), stream=True))

    assert caught.value.status_code == 400
