"""The bound on the bodies of all requests that are being answered: more get a 503 that says when to come again."""

import asyncio
import json

import pytest
from servers.proxied import Setup, chat
from servers.scripted import Gate, stream_text, whole_text

from forge.proxy import passed_on
from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

LIMITS = Limits(bodies_bytes=3000)
LONG = "x" * 2000


def long_chat(**fields):
    return {**chat(**fields), "messages": [{"role": "user", "content": LONG}]}


LATER = {
    "/v1/chat/completions": long_chat(),
    "/v1/messages": {**long_chat(tools=False), "max_tokens": 5},
    "/v1/responses": {"model": "m", "input": LONG},
    "/v1/messages/count_tokens": long_chat(tools=False),
    "/v1/embeddings": {"model": "m", "input": LONG},
}


@pytest.mark.parametrize("path", LATER)
async def test_beyond_the_bound_a_request_may_come_again(path):
    gate = Gate()
    async with Setup([stream_text([gate, "done"]), whole_text("now")], limits=LIMITS) as s:
        first = asyncio.create_task(s.client.post(long_chat(stream=True)))
        await s.backend.chat(1)
        status, headers, body = await s.client.post(LATER[path], path=path)
        assert (status, len(s.backend.chats)) == (503, 1)
        assert int(headers["retry-after"]) >= 1
        answer = json.loads(body)
        assert "again" in answer["error"]["message"]
        if path.startswith("/v1/messages"):
            assert (answer["type"], answer["error"]["type"]) == ("error", "overloaded_error")
        else:
            assert answer["error"]["code"] == "bodies_full"
        gate.set()
        assert (await first)[0] == 200
        assert (await s.client.post(long_chat()))[0] == 200  # there is room again


DEEP = b'{"a":NaN,"b":' + b"[" * 100_000


@pytest.mark.parametrize("path", LATER)
async def test_no_answer_keeps_its_room(path):
    async with Setup([whole_text("a"), whole_text("b"), whole_text("c")], limits=LIMITS) as s:
        for body in (LATER[path], {**LATER[path], "model": 5}, b"x" * 2000, DEEP):
            await s.client.post(body, path=path)
        assert s.runtime._service.bodies.held == 0


async def test_a_fault_of_ours_keeps_no_room(monkeypatch):
    def fault(_):
        raise LookupError

    monkeypatch.setattr(passed_on, "top_level_fields", fault)
    async with Setup([], limits=LIMITS) as s:
        status, _, body = await s.client.post(LATER["/v1/embeddings"], path="/v1/embeddings")
        assert (status, json.loads(body)["error"]["code"]) == (500, "internal_error")
        assert s.runtime._service.bodies.held == 0


async def test_a_client_that_leaves_gives_its_room_back():
    async with Setup([stream_text([Gate()]), whole_text("now")], limits=LIMITS) as s:
        first = asyncio.create_task(s.client.post(long_chat(stream=True)))
        one = await s.backend.chat(1)
        first.cancel()
        await asyncio.wait_for(one.gone.wait(), 5)
        assert (await s.client.post(long_chat()))[0] == 200


async def test_a_body_without_a_length_counts_too():
    async def pieces():
        for _ in range(4):
            yield json.dumps(LONG).encode()

    gate = Gate()
    async with Setup([stream_text([gate, "done"])], limits=LIMITS) as s:
        first = asyncio.create_task(s.client.post(long_chat(stream=True)))
        await s.backend.chat(1)
        async with s.client.session.post(s.client.url + "/v1/chat/completions", data=pieces()) as answer:
            assert answer.status == 503
        gate.set()
        await first
