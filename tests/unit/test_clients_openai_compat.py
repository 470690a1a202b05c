import pytest
from msgspec import Raw
from servers.scripted import ScriptedServer, error, stream_text, whole_call, whole_text

from forge.clients.base import ChunkType, LLMClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.core.calls import TextResponse, ToolCall
from forge.core.request import ChatMessage, Constraint, Request, Text, Tool, ToolChoice
from forge.errors import (
    BackendError,
    BackendUnreachableError,
    MultipleCredentialsError,
    UnsupportedModelError,
)

pytestmark = pytest.mark.anyio

F = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), model="asked", stream=True)
HI = [{"role": "user", "content": "hi"}]


async def exchange(request, *scripts, **options):
    """The deltas, and the requests that reached the server."""
    async with ScriptedServer(list(scripts), pages={}) as server:
        client = OpenAICompatClient("m", f"{server.url}/v1", **options)
        try:
            return [delta async for delta in client.exchange(request)], server.requests
        finally:
            await client.aclose()


def test_construction():
    client = OpenAICompatClient("Qwen3-8B", "http://u/v1", recommended_sampling=True, top_k=1)

    assert isinstance(client, LLMClient)
    assert (client.model, client.sampling_key, client.api_format) == ("Qwen3-8B", "Qwen3-8B", "openai")
    assert client.sampling["top_k"] == 1
    assert client.sampling["temperature"] == 0.6
    with pytest.raises(UnsupportedModelError):
        OpenAICompatClient("nobody-knows", "http://u/v1", recommended_sampling=True)
    with pytest.raises(MultipleCredentialsError):
        OpenAICompatClient("m", "http://u/v1", api_key="a", extra_headers={"X-Api-Key": "b"})
    with pytest.raises(BackendUnreachableError):
        OpenAICompatClient("m", "not a url")


async def test_the_body():
    _, (sent,) = await exchange(ASK, stream_text(["ok"]), temperature=0.1, api_key="k")

    assert sent.target == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.json == {
        "temperature": 0.1,
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_nothing_is_asked_beside_the_chat():
    _, requests = await exchange(ASK, stream_text(["ok"]))

    assert [r.target for r in requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize("choice", [None, ToolChoice("required")])
async def test_a_constraint(choice):
    request = Request(
        messages=ASK.messages, tools=(F,), tool_choice=choice, constraint=Constraint(tools=(F,)), stream=True
    )
    _, (sent,) = await exchange(request, stream_text(["{}"]))

    schema = sent.json["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["name"] == {"const": "f"}
    assert sent.json["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in sent.json["tools"]] == ["f"]


async def test_a_refused_constraint_does_not_fail_the_turn():
    request = Request(
        messages=ASK.messages,
        tools=(F,),
        tool_choice=ToolChoice("required"),
        constraint=Constraint(tools=(F,)),
    )
    refusal = error(400, "response_format is not supported", "invalid_request_error")
    deltas, (first, second) = await exchange(request, refusal, whole_call("f", '{"a":1}'))

    assert "response_format" in first.json
    assert "response_format" not in second.json
    assert second.json["tool_choice"] == "required"
    assert deltas[-1].reason == "tool_calls"


async def test_a_failure_that_passes_is_tried_again():
    busy = error(429, "slow down", "rate_limit_error", {"Retry-After": "0.01"})
    deltas, requests = await exchange(ASK, busy, busy, stream_text(["ok"]))

    assert deltas[-1].reason == "stop"
    assert len(requests) == 3


@pytest.mark.parametrize("retries", [0, 1])
async def test_no_more_than_asked_for(retries):
    busy = error(429, "slow down", "rate_limit_error", {"Retry-After": "0.01"})
    with pytest.raises(BackendError) as caught:
        await exchange(ASK, *[busy] * (retries + 1), max_retries=retries)
    assert caught.value.retry_after == "0.01"


async def test_what_the_server_says_about_trying_again_counts():
    final = error(500, "no", "server_error", {"x-should-retry": "false"})
    with pytest.raises(BackendError):
        await exchange(ASK, final)


async def test_a_stream_that_has_begun_is_never_tried_again():
    script = stream_text(["a"])
    script.steps = [script.steps[1], b'data: {"error":{"message":"broke","code":503}}\n\n']
    with pytest.raises(BackendError, match="broke"):
        await exchange(ASK, script, stream_text(["never"]))


async def test_the_contract():
    async with ScriptedServer([whole_call("f", '{"a":1}'), stream_text(["so ", "be it"])]) as server:
        client = OpenAICompatClient("m", f"{server.url}/v1")
        calls = await client.send(HI, raw_openai_tools=[], sampling={"seed": 1}, passthrough={"stop": "x"})
        chunks = [chunk async for chunk in client.send_stream(HI)]
        await client.aclose()

        assert calls == [ToolCall("f", {"a": 1})]
        assert chunks[-1].type is ChunkType.FINAL
        assert chunks[-1].response == TextResponse("so be it")
        assert client.last_usage[0].total_tokens == 27
        assert (server.chats[0].json["seed"], server.chats[0].json["stop"]) == (1, "x")
        assert await client.get_context_length() is None


async def test_no_key_in_a_message():
    with pytest.raises(BackendUnreachableError) as caught:
        await exchange_at("http://u:s3cret@127.0.0.1:1/v1?key=s3cret")
    assert "s3cret" not in str(caught.value)


async def exchange_at(url):
    client = OpenAICompatClient("m", url, max_retries=0)
    try:
        return [delta async for delta in client.exchange(ASK)]
    finally:
        await client.aclose()


async def test_capabilities():
    able = await OpenAICompatClient("m", "http://u/v1").capabilities()

    assert able.constrains
    assert able.tool_choice_modes == {"auto", "none", "required", "named"}
    assert (able.model, able.context_length) == ("m", None)


async def test_options_of_the_request_win():
    request = Request(messages=ASK.messages, options={"temperature": Raw(b"0.9")})
    _, (sent,) = await exchange(request, whole_text("ok"), temperature=0.1)

    assert sent.json["temperature"] == 0.9
