"""What a backend says of its limits and of its answer's id reaches the client, where one answer made the client's."""

import asyncio
import json
import logging

import pytest
from servers.proxied import PARIS, Setup, chat
from servers.scripted import Gate, error, stream_call, stream_text, whole_call, whole_text
from yarl import URL

from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

OPENAIS = {
    "X-Request-Id": "req_theirs",
    "x-ratelimit-remaining-requests": "59",
    "X-RateLimit-Reset-Tokens": "6m0s",
}
ANTHROPICS = {
    "request-id": "req_011theirs",
    "anthropic-ratelimit-tokens-remaining": "1000",
    "anthropic-ratelimit-unified-status": "allowed",
}
NOT_PASSED = {"Set-Cookie": "a=b", "Server": "theirs", "X-Secret": "s"}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
ASKING = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Weather?"}]}


def saying(script, headers):
    script.headers = {**script.headers, **headers, **NOT_PASSED}
    return script


def openai(*scripts, **settings):
    return Setup([saying(script, OPENAIS) for script in scripts], backend="openai", **settings)


def assert_told(headers, given):
    for name, value in given.items():
        assert headers.getall(name) == [value]
    assert not {name.lower() for name in NOT_PASSED} & {name.lower() for name in headers}


@pytest.mark.parametrize("tools", [True, False], ids=["guarded", "forwarded"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_an_answer_has_the_backends_limits_and_id(tools, stream, caplog):
    script = stream_text(["Sunny."]) if stream else whole_text("Sunny.")
    with caplog.at_level(logging.INFO, "forge.proxy"):
        async with openai(script) as s:
            status, headers, _ = await s.client.post(chat(tools=tools, stream=stream))
    assert status == 200
    assert_told(headers, OPENAIS)
    [fields] = [record.fields for record in caplog.records if hasattr(record, "fields")]
    assert headers["x-forge-request-id"] == fields["request"]
    assert fields["backend_request"] == "req_theirs"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
async def test_an_error_has_them_too(path):
    async with openai(error(429, "slow down", "rate_limit_error")) as s:
        body = {"model": "m", "input": "hi"} if path.endswith("responses") else ASKING
        status, headers, _ = await s.client.post(body, path=path)
    assert status == 429
    assert_told(headers, OPENAIS)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_anthropics_own(path):
    script = saying(whole_text(""), ANTHROPICS)
    script.steps = [json.dumps(MESSAGE).encode()]
    async with Setup([script], backend="anthropic") as s:
        status, headers, _ = await s.client.post(ASKING, path=path, headers={"x-api-key": "k"})
    assert status == 200
    assert_told(headers, ANTHROPICS)


async def test_an_answer_made_of_several_has_an_id_of_forges_own():
    wrong, right = whole_call("get_wether", PARIS), whole_call("get_weather", PARIS)
    async with openai(wrong, right) as s:
        _, headers, _ = await s.client.post(chat())
    assert headers["x-request-id"].startswith("req_")
    assert headers["x-request-id"] != "req_theirs"
    assert not [name for name in headers if "ratelimit" in name.lower()]


async def test_a_corrected_stream_that_said_nothing_before_has_none_either():
    async with openai(stream_call("get_wether", [PARIS]), stream_call("get_weather", [PARIS])) as s:
        _, headers, _ = await s.client.post(chat(stream=True))
    assert headers["x-request-id"] != "req_theirs"


async def test_a_stream_that_began_before_the_backend_answered_has_none():
    gate = Gate()
    script = stream_text(["Sunny."])
    script.steps.insert(0, gate)
    async with openai(script, limits=Limits(heartbeat_seconds=0.05)) as s:
        url = s.client.url + "/v1/chat/completions"
        async with s.client.session.post(url, json=chat(stream=True)) as answer:
            assert answer.headers["x-request-id"]
            gate.set()
            assert b"Sunny." in await answer.read()


async def test_a_pipelined_request_hears_nothing_of_the_one_before_it():
    gate = Gate()
    second = stream_text(["Two."])
    second.steps.insert(0, gate)
    async with openai(whole_text("One."), second, limits=Limits(heartbeat_seconds=0.05)) as s:
        address = URL(s.client.url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        for body in (chat(), chat(stream=True)):
            data = json.dumps(body).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
            writer.write(head.encode() + data)
        first = await reader.readuntil(b"One.")
        head = await reader.readuntil(b": waiting")
        gate.set()
        await reader.readuntil(b"[DONE]")
        writer.close()
    assert first.count(b"req_theirs") == 1
    assert b"200 OK" in head
    assert b"req_theirs" not in head
    assert b"x-ratelimit" not in head


async def test_neighbours_do_not_hear_one_another():
    gate = Gate()
    first = saying(stream_text([gate, "One."]), {"x-request-id": "one"})
    second = saying(stream_text(["Two."]), {})
    async with Setup([first, second], backend="openai") as s:
        one = asyncio.create_task(s.client.post(chat(stream=True)))
        await s.backend.chat(1)
        _, two, _ = await s.client.post(chat(stream=True))
        gate.set()
        _, headers, _ = await one
    assert headers["x-request-id"] == "one"
    assert two["x-request-id"].startswith("req_")
    # The same connection again: nothing is left of the answer before.
    async with Setup([saying(whole_text("a"), OPENAIS), whole_text("b")], backend="openai") as s:
        await s.client.post(chat())
        _, headers, _ = await s.client.post(chat())
    assert headers["x-request-id"] != "req_theirs"


async def test_what_is_passed_on_has_them():
    pages = {"/v1/embeddings": saying(whole_text(""), OPENAIS), "/v1/models": saying(whole_text(""), OPENAIS)}
    async with Setup(pages=pages, backend="openai") as s:
        _, embedded, _ = await s.client.post({"input": "x"}, path="/v1/embeddings")
        _, listed, _ = await s.client.get("/v1/models")
    assert_told(embedded, OPENAIS)
    assert_told(listed, OPENAIS)
