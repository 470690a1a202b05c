"""The roads of a call: deltas as they come, one by one or together, and for whoever waits for the end. All give the same."""

import copy

import pytest
from msgspec import structs
from servers.scripted import Script, ScriptedServer, chunk, error, stream, stream_text, whole_call, whole_text

from forge.clients.ollama import OllamaClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.core.request import ChatMessage, Constraint, Request, Text, Tool
from forge.errors import BackendError, BackendUnreachableError, ForgeError

pytestmark = pytest.mark.anyio

ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),))
CONSTRAINED = structs.replace(ASK, constraint=Constraint(tools=(Tool(name="f"),)))
BUSY = error(503, "busy", "x", {"Retry-After": "0.01"})
BROKEN = stream([chunk({"content": "a"}) + b'data: {"error":{"message":"boom"}}\n\n'])


async def every_way(request, scripts, client_of):
    """What each road gave, its error, and how many requests it took."""
    ways = []
    for way in ("exchange", "batches", "deliver"):
        async with ScriptedServer(copy.deepcopy(scripts)) as server:
            client, deltas, failure = client_of(server), [], None
            try:
                if way == "deliver":
                    await client.deliver(request, deltas.extend)
                elif way == "batches":
                    async for batch in client.batches(request):
                        deltas += batch
                else:
                    async for delta in client.exchange(request):
                        deltas.append(delta)
            except ForgeError as fault:
                failure = (type(fault), str(fault).replace(server.url, ""))
            await client.aclose()
            ways.append((deltas, failure, len(server.chats)))
    return ways


def openai(server):
    return OpenAICompatClient("m", f"{server.url}/v1", max_retries=1)


@pytest.mark.parametrize(
    ("request_", "scripts", "tries", "fails"),
    [
        pytest.param(ASK, [whole_text("ok")], 1, None, id="text"),
        pytest.param(ASK, [whole_call("f", '{"a":1}')], 1, None, id="call"),
        pytest.param(ASK, [stream_text(["a", "b"])], 1, None, id="a stream unasked"),
        pytest.param(ASK, [BUSY, whole_text("ok")], 2, None, id="busy once"),
        pytest.param(ASK, [BUSY, BUSY], 2, BackendError, id="busy for good"),
        pytest.param(
            CONSTRAINED, [error(400, "no grammar", "x"), whole_text("ok")], 2, None, id="no constraint"
        ),
        pytest.param(ASK, [BROKEN], 1, BackendError, id="an error behind a piece"),
        pytest.param(ASK, [error(401, "no key", "x")], 1, BackendError, id="refused"),
    ],
)
async def test_all_roads_give_the_same(request_, scripts, tries, fails):
    exchanged, batched, delivered = await every_way(request_, scripts, openai)

    assert batched == delivered == exchanged
    deltas, failure, requests = delivered
    assert (failure and failure[0], requests) == (fails, tries)
    assert bool(deltas) == (fails is None or scripts == [BROKEN])


async def test_a_server_that_nobody_runs():
    client = OpenAICompatClient("m", "http://127.0.0.1:9/v1", max_retries=0)

    with pytest.raises(BackendUnreachableError):
        await client.deliver(ASK, [].extend)
    await client.aclose()


async def test_ollamas_lines():
    lines = (
        b'{"model":"m","message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop",'
        b'"prompt_eval_count":3,"eval_count":1}\n'
    )
    script = Script([lines], 200, {"Content-Type": "application/x-ndjson"})

    exchanged, batched, delivered = await every_way(
        ASK, [script], lambda server: OllamaClient("m", server.url)
    )

    assert batched == delivered == exchanged
    assert delivered[0]
