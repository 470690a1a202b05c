"""OpenAI's own SDK against the proxy, on a scripted llama-server."""

import json
from contextlib import asynccontextmanager

import openai
import pytest
from servers.running import running_proxy
from servers.scripted import (
    ScriptedServer,
    chunk,
    error,
    stream,
    stream_call,
    stream_text,
    whole_call,
    whole_text,
)

pytestmark = pytest.mark.anyio

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
MESSAGES = [{"role": "user", "content": "Weather in Paris?"}]
PARIS = '{"city": "Paris"}'
WRITTEN = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'


@asynccontextmanager
async def sdk(*scripts):
    async with (
        ScriptedServer(list(scripts)) as backend,
        running_proxy(backend.url) as runtime,
        openai.AsyncOpenAI(base_url=f"{runtime.url}/v1", api_key="none", max_retries=0) as client,
    ):
        client.backend = backend
        yield client


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(whole_call("get_weather", PARIS), id="native"),
        pytest.param(whole_text(WRITTEN), id="written"),
    ],
)
async def test_a_call(script):
    async with sdk(script) as client:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)
    call = answer.choices[0].message.tool_calls[0]
    assert answer.choices[0].finish_reason == "tool_calls"
    assert (call.type, call.function.name) == ("function", "get_weather")
    assert json.loads(call.function.arguments) == {"city": "Paris"}
    assert answer.usage.total_tokens == 27


@pytest.mark.parametrize("tools", [TOOLS, openai.omit])
async def test_text(tools):
    async with sdk(whole_text("Sunny.")) as client:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES, tools=tools)
    assert answer.choices[0].message.content == "Sunny."
    assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("tools", [TOOLS, openai.omit])
async def test_streamed_text(tools):
    async with sdk(stream_text(["Sun", "ny."])) as client:
        events = await client.chat.completions.create(
            model="m", messages=MESSAGES, tools=tools, stream=True, stream_options={"include_usage": True}
        )
        chunks = [c async for c in events]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Sunny."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens == 7


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(stream_call("get_weather", ['{"city": ', '"Paris"}']), id="native"),
        pytest.param(stream_text(list(WRITTEN)), id="written"),
    ],
)
async def test_a_streamed_call(script):
    async with (
        sdk(script) as client,
        client.chat.completions.stream(model="m", messages=MESSAGES, tools=TOOLS) as events,
    ):
        answer = await events.get_final_completion()
    call = answer.choices[0].message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})
    assert not answer.choices[0].message.content


async def test_a_retry_within_a_stream():
    async with sdk(stream_call("get_wether", [PARIS]), stream_call("get_weather", [PARIS])) as client:
        async with client.chat.completions.stream(model="m", messages=MESSAGES, tools=TOOLS) as events:
            answer = await events.get_final_completion()
        assert len(client.backend.chats) == 2
    assert [c.function.name for c in answer.choices[0].message.tool_calls] == ["get_weather"]


async def test_several_choices():
    async with sdk(whole_text("a")) as client:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS, n=2)
        assert client.backend.chats[0].json["n"] == 2
    assert answer.choices[0].message.content == "a"


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_errors_are_the_sdks_own(status, kind, streamed):
    async with sdk(error(status, "no luck", "some_type")) as client:
        with pytest.raises(kind) as caught:
            await client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS, stream=streamed)
    assert caught.value.status_code == status
    assert "no luck" in caught.value.message


async def test_a_bad_request_names_the_field():
    async with sdk() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(model="m", messages=[{"content": "no role"}])
    assert caught.value.param.startswith("messages[0]")


@pytest.mark.parametrize("tools", [TOOLS, openai.omit])
async def test_an_error_inside_a_stream_is_raised(tools):
    frame = b'data: {"error": {"code": 500, "message": "boom", "type": "server_error"}}\n\n'
    async with sdk(stream([chunk({"content": "Hi"}), frame])) as client:
        events = await client.chat.completions.create(model="m", messages=MESSAGES, tools=tools, stream=True)
        with pytest.raises(openai.APIError) as caught:
            async for _ in events:
                pass
    assert "boom" in caught.value.message


@pytest.mark.parametrize("tools", [TOOLS, openai.omit])
async def test_a_broken_stream_is_raised(tools):
    async with sdk(stream([chunk({"content": "Hi"})], cut=True)) as client:
        events = await client.chat.completions.create(model="m", messages=MESSAGES, tools=tools, stream=True)
        with pytest.raises(openai.APIError):
            async for _ in events:
                pass


async def test_models():
    async with sdk() as client:
        assert [m.id async for m in client.models.list()] == ["scripted"]


async def test_the_sdks_wait_before_a_retry_is_the_backends():
    async with sdk(error(429, "slow down", "rate_limit_error", {"Retry-After": "7"})) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)
    assert caught.value.response.headers["retry-after"] == "7"
