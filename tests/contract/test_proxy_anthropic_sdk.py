"""Anthropic's own SDK against the proxy, on a scripted llama-server."""

import json
from contextlib import asynccontextmanager

import anthropic
import pytest
from servers.running import running_proxy
from servers.scripted import (
    Gate,
    Script,
    ScriptedServer,
    chunk,
    ending,
    error,
    stream,
    stream_call,
    stream_text,
    tool_call,
    whole,
    whole_call,
    whole_text,
)

from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

TOOLS = [
    {
        "name": "get_weather",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }
]
MESSAGES = [{"role": "user", "content": "Weather in Paris?"}]
PARIS = '{"city": "Paris"}'
WRITTEN = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'
THOUGHT = [chunk({"reasoning_content": "Let "}), chunk({"reasoning_content": "me think."})]


@asynccontextmanager
async def sdk(*scripts, pages=None, key="none", **settings):
    async with (
        ScriptedServer(list(scripts), pages=pages) as backend,
        running_proxy(backend.url, **settings) as runtime,
        # Nothing is encrypted here, and reading the system's certificates takes longer than a test.
        anthropic.AsyncAnthropic(
            base_url=runtime.url,
            api_key=key,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=False),
        ) as client,
    ):
        client.backend = backend
        yield client


def ask(client, **fields):
    return client.messages.create(**{"model": "m", "max_tokens": 64, "messages": MESSAGES, **fields})


def streamed(client, **fields):
    return client.messages.stream(**{"model": "m", "max_tokens": 64, "messages": MESSAGES, **fields})


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(whole_call("get_weather", PARIS), id="native"),
        pytest.param(whole_text(WRITTEN), id="written"),
    ],
)
async def test_a_call(script):
    async with sdk(script) as client:
        answer = await ask(client, tools=TOOLS)
    assert answer.stop_reason == "tool_use"
    assert [(block.type, block.name, block.input) for block in answer.content] == [
        ("tool_use", "get_weather", {"city": "Paris"})
    ]
    assert answer.content[0].id
    assert answer.id.startswith("msg_")
    assert answer._request_id.startswith("req_")
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", "scripted")


@pytest.mark.parametrize("tools", [TOOLS, anthropic.omit])
async def test_text_and_what_it_cost(tools):
    async with sdk(whole_text("Sunny.")) as client:
        answer = await ask(client, tools=tools)
    assert [(block.type, block.text) for block in answer.content] == [("text", "Sunny.")]
    assert answer.stop_reason == "end_turn"
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (17, 3, 7)


@pytest.mark.parametrize("tools", [TOOLS, anthropic.omit])
async def test_streamed_text_and_thinking(tools):
    script = stream([*THOUGHT, chunk({"content": "Sun"}), chunk({"content": "ny."}), *ending("length")])
    async with sdk(script) as client, streamed(client, tools=tools) as events:
        kinds = [event.type async for event in events]
        answer = await events.get_final_message()
    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert answer.content[0].thinking == "Let me think."
    assert answer.content[1].text == "Sunny."
    assert answer.stop_reason == "max_tokens"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (17, 7)
    assert kinds[0] == "message_start"
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(stream_call("get_weather", ['{"city": ', '"Paris"}']), id="native"),
        pytest.param(stream_text(list(WRITTEN)), id="written"),
    ],
)
async def test_a_streamed_call(script):
    async with sdk(script) as client, streamed(client, tools=TOOLS) as events:
        answer = await events.get_final_message()
    assert answer.stop_reason == "tool_use"
    assert [(block.name, block.input) for block in answer.content] == [("get_weather", {"city": "Paris"})]


async def test_a_retry_within_a_stream_after_text():
    scripts = [
        stream_call("get_wether", [PARIS], text=["Let me look."]),
        stream_call("get_weather", [PARIS]),
    ]
    async with sdk(*scripts) as client:
        async with streamed(client, tools=TOOLS) as events:
            answer = await events.get_final_message()
        first, second = (chat.json["messages"] for chat in client.backend.chats)
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    assert second[: len(first)] == first
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (34, 6, 14)


@pytest.mark.parametrize(
    ("before", "after", "settings"),
    [
        pytest.param([chunk({"content": "Hel"})], [chunk({"content": "lo"})], {}, id="text"),
        pytest.param(
            [chunk({"tool_calls": [{"index": 0, **tool_call("respond", '{"message": "Hel')}]})],
            [chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'lo"}'}}]})],
            {"inject_respond_tool": True},
            id="respond",
        ),
    ],
)
async def test_words_arrive_while_the_model_goes_on(before, after, settings):
    gate = Gate()
    script = stream([*before, gate, *after, *ending("stop")])
    async with sdk(script, **settings) as client, streamed(client, tools=TOOLS) as events:
        words = events.text_stream
        assert await anext(words) == "Hel"
        gate.set()
        assert "".join([word async for word in words]) == "lo"
        answer = await events.get_final_message()
    assert answer.stop_reason == "end_turn"


async def test_thinking_in_a_whole_answer():
    script = whole({"content": "4", "reasoning_content": "2 and 2"})
    async with sdk(script) as client:
        answer = await ask(client, tools=TOOLS, thinking={"type": "enabled", "budget_tokens": 1024})
    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert answer.content[0].thinking == "2 and 2"


async def test_a_ping_while_the_model_reads():
    gate = Gate()
    async with (
        sdk(stream_text([gate, "Hi"]), limits=Limits(heartbeat_seconds=0.05)) as client,
        client.messages.with_streaming_response.create(
            model="m", max_tokens=9, messages=MESSAGES, tools=TOOLS, stream=True
        ) as response,
    ):
        lines = response.iter_lines()
        assert await anext(lines) == "event: ping"
        assert json.loads((await anext(lines)).removeprefix("data: ")) == {"type": "ping"}
        gate.set()
        rest = [line async for line in lines]
    assert "event: message_stop" in rest


STATUSES = [
    (400, anthropic.BadRequestError, "invalid_request_error"),
    (401, anthropic.AuthenticationError, "authentication_error"),
    (403, anthropic.PermissionDeniedError, "permission_error"),
    (404, anthropic.NotFoundError, "not_found_error"),
    (413, anthropic.APIStatusError, "request_too_large"),
    (422, anthropic.UnprocessableEntityError, "invalid_request_error"),
    (429, anthropic.RateLimitError, "rate_limit_error"),
    (500, anthropic.InternalServerError, "api_error"),
    (503, anthropic.APIStatusError, "overloaded_error"),
    (529, anthropic.APIStatusError, "overloaded_error"),
]


@pytest.mark.parametrize("streams", [True, False])
async def test_errors_are_the_sdks_own(streams):
    async with sdk(*(error(status, "no luck", "some_type") for status, _, _ in STATUSES)) as client:
        for status, kind, name in STATUSES:
            with pytest.raises(kind) as caught:
                await ask(client, tools=TOOLS, stream=streams)
            assert caught.value.status_code == status
            assert caught.value.request_id.startswith("req_")
            assert "no luck" in caught.value.message
            assert caught.value.body["error"]["type"] == name


async def test_a_bad_request_names_the_field():
    async with sdk() as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await ask(client, messages=[{"role": "user", "content": 7}])
        assert client.backend.chats == []
    assert "messages[0].content" in caught.value.message


@pytest.mark.parametrize("tools", [TOOLS, anthropic.omit])
@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_breaks_is_raised(tools, cut):
    frame = b'data: {"error": {"code": 500, "message": "boom", "type": "server_error"}}\n\n'
    steps = [chunk({"content": "Hi"})] if cut else [chunk({"content": "Hi"}), frame]
    async with sdk(stream(steps, cut=cut)) as client:
        events = await ask(client, tools=tools, stream=True)
        with pytest.raises(anthropic.APIStatusError) as caught:
            async for _ in events:
                pass
    assert caught.value.body["error"]["type"] == "api_error"
    assert cut or "boom" in caught.value.message


async def test_a_wrong_key_is_an_authentication_error():
    async with sdk(whole_text("Hi"), key="wrong", api_key="right") as client:
        with pytest.raises(anthropic.AuthenticationError):
            await ask(client)
        bearer = client.copy(auth_token="right")
        assert (await ask(bearer)).content[0].text == "Hi"
        assert {"x-api-key", "authorization"}.isdisjoint(client.backend.chats[0].headers)


async def test_the_backends_wait_is_passed_on():
    async with sdk(error(429, "slow down", "rate_limit_error", {"Retry-After": "7"})) as client:
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask(client, tools=TOOLS)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_tokens_are_counted_by_the_server():
    pages = {
        "/v1/messages/count_tokens": Script([b'{"input_tokens": 42}']),
        "/props": Script([json.dumps({"chat_template_caps": {"supports_tools": True}}).encode()]),
    }
    async with sdk(pages=pages) as client:
        raw = await client.messages.with_raw_response.count_tokens(model="m", messages=MESSAGES, tools=TOOLS)
    assert (await raw.parse()).input_tokens == 42
    assert raw.headers["x-forge-token-count"] == "counted"


async def test_tokens_are_estimated_where_nobody_counts():
    long = [{"role": "user", "content": "word " * 4000}]
    async with sdk() as client:
        raw = await client.messages.with_raw_response.count_tokens(model="m", messages=long)
        again = await client.messages.count_tokens(model="m", messages=MESSAGES)
    assert 3000 <= (await raw.parse()).input_tokens <= 7000
    assert again.input_tokens >= 1
    assert raw.headers["x-forge-token-count"] == "estimated"


async def test_the_proxys_own_errors_are_the_sdks_own():
    async with sdk(limits=Limits(body_bytes=2000)) as client:
        with pytest.raises(anthropic.APIStatusError) as large:
            await ask(client, messages=[{"role": "user", "content": "x" * 3000}])
        with pytest.raises(anthropic.NotFoundError) as unknown:
            await client.messages.batches.list()
    assert (large.value.status_code, large.value.body["error"]["type"]) == (413, "request_too_large")
    assert unknown.value.body["error"]["type"] == "not_found_error"
