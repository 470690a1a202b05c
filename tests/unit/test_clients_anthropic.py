import json

import pytest
from servers import recordings
from servers.scripted import Script, ScriptedServer

from forge.clients.anthropic import AnthropicClient
from forge.clients.base import ChunkType, LLMClient
from forge.core.calls import TextResponse, ToolCall
from forge.core.constrained_attempt import constrained_attempt
from forge.core.request import ChatMessage, Request, Text
from forge.errors import (
    BackendError,
    MissingCredentialError,
    MissingModelError,
    MultipleCredentialsError,
)
from forge.tools import tool

pytestmark = pytest.mark.anyio

ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), stream=True)
HI = [{"role": "user", "content": "hi"}]
STREAM = "ollama/anthropic_stream.sse"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def message(*content, reason="end_turn", **usage):
    body = {"id": "1", "model": "m", "content": list(content), "stop_reason": reason, "usage": usage}
    return Script([json.dumps(body).encode()])


def error(status, headers=None):
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    return Script(
        [json.dumps(body).encode()], status, {"Content-Type": "application/json", **(headers or {})}
    )


async def run(*scripts, request=ASK, model="m", headers=None, **options):
    """The requests that reached the server."""
    async with ScriptedServer(list(scripts) or [recordings.script(STREAM)], pages={}) as server:
        client = AnthropicClient(model, base_url=server.url, **options)
        try:
            async for _ in client.exchange(request, headers=headers):
                pass
        finally:
            await client.aclose()
        return server.requests


def credentials(request):
    return {name: request.headers[name] for name in ("x-api-key", "authorization") if name in request.headers}


@pytest.mark.parametrize(
    ("options", "environment", "sent"),
    [
        pytest.param({"api_key": "k"}, {}, {"x-api-key": "k"}, id="key"),
        pytest.param({}, {"ANTHROPIC_API_KEY": "e"}, {"x-api-key": "e"}, id="key of the environment"),
        pytest.param({}, {"ANTHROPIC_AUTH_TOKEN": "t"}, {"authorization": "Bearer t"}, id="token"),
        pytest.param({}, {"ANTHROPIC_API_KEY": "e", "ANTHROPIC_AUTH_TOKEN": "t"}, {"x-api-key": "e"}, id="never both"),
        pytest.param({"api_key": ""}, {"ANTHROPIC_API_KEY": "e"}, {}, id="none wanted"),
        pytest.param({"default_headers": {"X-Api-Key": "h"}}, {"ANTHROPIC_API_KEY": "e"}, {"x-api-key": "h"}, id="header"),
    ],
)  # fmt: skip
async def test_one_credential_at_most(options, environment, sent, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    (request,) = await run(**options)

    assert credentials(request) == sent
    assert request.headers["anthropic-version"] == "2023-06-01"


async def test_a_calls_own_key_and_version():
    headers = {"x-api-key": "caller", "anthropic-version": "2024-01-01"}
    (request,) = await run(api_key="", headers=headers)

    assert credentials(request) == {"x-api-key": "caller"}
    assert request.headers["anthropic-version"] == "2024-01-01"
    with pytest.raises(MultipleCredentialsError):
        await run(api_key="k", headers=headers)


async def test_the_official_api_is_not_called_without_a_key():
    client = AnthropicClient("m", "")
    with pytest.raises(MissingCredentialError):
        async for _ in client.exchange(ASK):
            pass
    await client.aclose()
    assert client.base_url.startswith("https://api.anthropic.com")


async def test_the_root_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://h:1/prefix/")

    assert AnthropicClient("m").base_url == "http://h:1/prefix/"


@pytest.mark.parametrize(("pin", "asked", "sent"), [("m", "a", "m"), (None, "a", "a"), ("m", None, "m")])
async def test_the_pinned_model_wins(pin, asked, sent):
    (request,) = await run(model=pin, request=Request(messages=ASK.messages, model=asked, stream=True))

    assert (request.target, request.json["model"]) == ("/v1/messages", sent)


async def test_no_model():
    with pytest.raises(MissingModelError):
        await run(model=None)


# -- trying again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
async def test_failures_that_pass_are_tried_again(status):
    again = error(status, {"retry-after-ms": "5"})

    assert len(await run(again, again, recordings.script(STREAM))) == 3


async def test_a_lost_connection_is_tried_again():
    lost = Script([], raw=True, reset=True)

    # The transport's own second try on a fresh connection comes first.
    assert len(await run(lost, lost, recordings.script(STREAM))) == 3


@pytest.mark.parametrize("script", [error(400), error(401), error(429, {"x-should-retry": "false"})])
async def test_failures_that_stay_are_not(script):
    with pytest.raises(BackendError, match="slow down"):
        await run(script)


async def test_never_once_a_stream_was_exposed():
    begun = b'data: {"type":"message_start","message":{"id":"1"}}\n\n'
    failed = b'data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    script = Script([begun, failed], headers={"Content-Type": "text/event-stream"})
    with pytest.raises(BackendError, match="busy"):
        await run(script, recordings.script(STREAM))


# -- the public contract ------------------------------------------------------------------------------------


async def test_the_contract():
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    thought = {"type": "thinking", "thinking": "why", "signature": "s"}
    whole = message(
        thought, call, reason="tool_use", input_tokens=3, output_tokens=2, cache_read_input_tokens=7
    )
    async with ScriptedServer([whole, recordings.script(STREAM)], pages={}) as server:
        client = AnthropicClient("m", "k", base_url=server.url)
        calls = await client.send(HI)
        usage = client.last_usage[0]
        chunks = [chunk async for chunk in client.send_stream(HI)]
        await client.aclose()

    assert isinstance(client, LLMClient)
    assert calls == [ToolCall("f", {"a": 1}, "why")]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (3, 2, 12)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (7, 0)
    assert chunks[-1].type is ChunkType.FINAL
    assert chunks[-1].response == TextResponse("Hello! How can I assist you today?")


THINK = {"type": "enabled", "budget_tokens": 1024}
THOUGHTS = [
    {"type": "thinking", "thinking": "why", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
]
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
}
ANSWERED = {"role": "tool", "tool_call_id": "t", "content": "r"}
THOUGHT_STREAM = b"".join(
    b"data: %b\n\n" % json.dumps(event).encode()
    for event in [
        {"type": "message_start", "message": {"id": "1"}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "w"}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hy"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "index": 1, "content_block": THOUGHTS[1]},
        {"type": "content_block_start", "index": 2, "content_block": USE},
        {"type": "message_stop"},
    ]
)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(message(*THOUGHTS, USE, reason="tool_use"), id="whole"),
        pytest.param(Script([THOUGHT_STREAM], headers={"Content-Type": "text/event-stream"}), id="streamed"),
    ],
)
async def test_calls_get_the_thinking_again_that_they_came_with(first):
    done = message({"type": "text", "text": "ok"})
    async with ScriptedServer([first, done], pages={}) as server:
        client = AnthropicClient("m", "k", base_url=server.url, thinking=THINK)
        await client.send(HI)
        await client.send([*HI, CALLED, ANSWERED])
        await client.aclose()

        body = server.chats[1].json
    assert body["messages"][1] == {"role": "assistant", "content": [*THOUGHTS, USE]}
    assert body["thinking"] == THINK


async def test_calls_whose_thinking_nobody_knows_go_on_without():
    async with ScriptedServer([message({"type": "text", "text": "ok"})], pages={}) as server:
        client = AnthropicClient("m", "k", base_url=server.url, thinking=THINK)
        await client.send([*HI, CALLED, ANSWERED])
        await client.aclose()

        body = server.chats[0].json
    assert body["messages"][1] == {"role": "assistant", "content": [USE]}
    assert "thinking" not in body


async def test_a_body_of_the_protocol_goes_out_as_it_is():
    body = {
        "model": "theirs",
        "max_tokens": 3,
        "messages": HI,
        "metadata": {"user_id": "u"},
        "odd": 1,
        "timeout": 2,
    }
    async with ScriptedServer([message({"type": "text", "text": "ok"})], pages={}) as server:
        client = AnthropicClient("m", "k", base_url=server.url)
        answer = await client.send([], inbound_anthropic_body=body)
        await client.aclose()

        assert answer == TextResponse("ok")
        assert server.chats[0].json == {**{n: v for n, v in body.items() if n != "timeout"}, "model": "m"}


@tool
def pick(colour: str) -> str:
    """Pick a colour."""
    return colour


async def test_a_constrained_attempt_is_a_forced_call():
    call = {"type": "tool_use", "id": "t", "name": "pick", "input": {"colour": "red"}}
    async with ScriptedServer([message(call, reason="tool_use")], pages={}) as server:
        client = AnthropicClient("m", "k", base_url=server.url)
        answer = await constrained_attempt(client, HI, [pick.spec], {})
        await client.aclose()

        assert answer.response == [ToolCall("pick", {"colour": "red"})]
        assert server.chats[0].json["tool_choice"] == {"type": "tool", "name": "pick"}


async def test_only_the_official_api_tells_its_context():
    assert await AnthropicClient("m", "k", base_url="http://h").get_context_length() is None
