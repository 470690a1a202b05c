"""What a proxy does with more requests than its backend should get, with clients that leave, and at its own end."""

import asyncio
import gc
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from servers.ports import free_port
from servers.running import running_proxy
from servers.scripted import Gate, Script, ScriptedServer, chunk, ending, stream, stream_text, whole_text

from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def chat(*, tools=True, streamed=False):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": streamed}
    return {**body, "tools": [TOOL]} if tools else body


@asynccontextmanager
async def setup(*scripts, **settings):
    """A scripted backend, the proxy's URL, a client session."""
    async with (
        ScriptedServer(list(scripts)) as backend,
        running_proxy(backend.url, **settings) as runtime,
        aiohttp.ClientSession() as session,
    ):
        backend.proxy = runtime
        yield backend, f"{runtime.url}/v1/chat/completions", session


async def post(session, url, body, **headers):
    async with session.post(url, json=body, headers=headers) as response:
        return response.status, response.headers, await response.read()


def waiting(*pieces):
    """A whole answer that comes when its gate is opened."""
    gate = Gate()
    return gate, Script([gate, *whole_text("late").steps])


async def queued(backend, count):
    """Until so many requests wait in the proxy's queue."""
    slots = backend.proxy._service.slots
    async with asyncio.timeout(30):
        while slots.waiting != count:  # noqa: ASYNC110 - a look from outside; nothing tells of it
            await asyncio.sleep(0.005)


# -- the queue --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools", [True, False])
async def test_serialized_requests_reach_the_backend_one_by_one(tools):
    gate, first = waiting()
    async with setup(first, whole_text("b"), serialize=True) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat(tools=tools)))
        await backend.chat(1)
        two = asyncio.create_task(post(session, url, chat(tools=tools)))
        await queued(backend, 1)
        assert len(backend.chats) == 1
        gate.set()
        assert [(await task)[0] for task in (one, two)] == [200, 200]
        assert len(backend.chats) == 2


async def test_callers_take_turns():
    gate, first = waiting()
    scripts = [first, *(whole_text(str(n)) for n in range(4))]
    async with setup(*scripts, serialize=True) as (backend, url, session):
        tasks = [asyncio.create_task(post(session, url, chat(), authorization="Bearer a"))]
        await backend.chat(1)
        for number, key in enumerate(["a", "a", "a", "b"], 1):
            tasks.append(asyncio.create_task(post(session, url, chat(), authorization=f"Bearer {key}")))
            await queued(backend, number)
        gate.set()
        await asyncio.gather(*tasks)
        keys = [r.headers["authorization"][-1] for r in backend.chats]
    assert keys == ["a", "a", "b", "a", "a"]


@pytest.mark.parametrize("streamed", [True, False])
async def test_beyond_the_queue_there_is_a_503(streamed):
    gate, first = waiting()
    limits = Limits(queue=0)
    async with setup(first, serialize=True, limits=limits) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat()))
        await backend.chat(1)
        status, headers, body = await post(session, url, chat(streamed=streamed))
        gate.set()
        assert (await one)[0] == 200
    assert status == 503
    assert int(headers["retry-after"]) >= 1
    assert json.loads(body)["error"]["code"] == "queue_full"


async def test_a_stream_in_the_queue_stays_alive_and_is_told_when_it_waited_too_long():
    gate, first = waiting()
    limits = Limits(queue_seconds=0.3, heartbeat_seconds=0.05)
    async with setup(first, serialize=True, limits=limits) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat()))
        await backend.chat(1)
        status, _, body = await post(session, url, chat(streamed=True))
        gate.set()
        await one
    assert status == 200
    lines = [line for line in body.decode().split("\n") if line]
    assert lines[0].startswith(":")
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "queue_timeout"


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_queued_request_whose_client_left_never_reaches_the_backend(streamed):
    gate, first = waiting()
    async with setup(first, whole_text("b"), serialize=True) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat()))
        await backend.chat(1)
        two = asyncio.create_task(post(session, url, chat(streamed=streamed)))
        await queued(backend, 1)
        two.cancel()
        await asyncio.wait_for(queued(backend, 0), 30)
        gate.set()
        await one
        await post(session, url, chat())
        assert len(backend.chats) == 2


async def test_a_correction_that_runs_is_ended_with_the_clients_interest():
    wrong = stream_text(['<tool_call>{"name": "nope", "arguments": {}}</tool_call>'])
    async with setup(wrong, stream([Gate()])) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat(streamed=True)))
        second = await asyncio.wait_for(backend.chat(2), 30)
        one.cancel()
        await asyncio.wait_for(second.gone.wait(), 8)


# -- timeouts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize(
    ("limits", "script", "code"),
    [
        pytest.param({"first_byte_seconds": 0.3}, Script([Gate()], raw=True), "backend_timeout", id="first"),
        pytest.param({"between_bytes_seconds": 0.3}, stream([Gate()]), "backend_timeout", id="between"),
        pytest.param({"total_seconds": 0.3}, stream([Gate()]), "total_timeout", id="total"),
    ],
)
async def test_each_phase_that_takes_too_long_is_a_504(limits, script, code, tools, streamed):
    fresh = Script([Gate()], headers=script.headers, raw=script.raw)
    async with setup(fresh, limits=Limits(**limits)) as (backend, url, session):
        status, _, body = await post(session, url, chat(tools=tools, streamed=streamed))
        assert status == 504
        error = json.loads(body)["error"]
        assert (error["code"], error["type"]) == (code, "timeout_error")
        await asyncio.wait_for(backend.chats[0].gone.wait(), 8)


@pytest.mark.parametrize("limits", [{"between_bytes_seconds": 0.5}, {"total_seconds": 1}])
async def test_a_timeout_within_a_stream_is_an_event_of_the_protocol(limits):
    script = stream([chunk({"content": "Hi"}), Gate(), *ending()])
    async with setup(script, limits=Limits(**limits)) as (_, url, session):
        status, _, body = await post(session, url, chat(streamed=True))
    last = json.loads(body.decode().strip().split("\n")[-1].removeprefix("data: "))
    assert (status, last["error"]["type"]) == (200, "timeout_error")


# -- the end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools", [True, False])
async def test_at_the_drains_end_streams_get_an_error_event_and_others_an_error(tools):
    scripts = [stream([chunk({"content": "Hi"}), Gate()]), Script([Gate()])]
    limits = Limits(drain_seconds=0.5)
    async with setup(*scripts, limits=limits) as (backend, url, session):
        one = asyncio.create_task(post(session, url, chat(tools=tools, streamed=True)))
        await backend.chat(1)
        two = asyncio.create_task(post(session, url, chat(tools=tools)))
        await backend.chat(2)
        backend.proxy.stop()
        status, _, body = await asyncio.wait_for(one, 30)
        last = json.loads(body.decode().strip().split("\n")[-1].removeprefix("data: "))
        assert (status, last["error"]["code"]) == (200, "shutting_down")
        status, headers, body = await asyncio.wait_for(two, 30)
        assert (status, json.loads(body)["error"]["code"]) == (503, "shutting_down")
        assert headers["retry-after"]
        with pytest.raises(aiohttp.ClientConnectorError):
            await post(session, url, chat())


# -- web pages ----------------------------------------------------------------------------------------------------


async def test_pages_that_were_let_in_can_read_every_answer():
    page = {"origin": "https://app.example"}
    async with setup(whole_text("a"), cors_origins=("https://app.example",), api_key="k") as (
        _,
        url,
        session,
    ):
        asked = {
            **page,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        }
        async with session.options(url, headers=asked) as response:
            assert response.status == 200
            assert response.headers["access-control-allow-origin"] == "https://app.example"
            assert "authorization" in response.headers["access-control-allow-headers"]
        async with session.options(
            f"{url}/v1/responses/resp_1", headers={**page, "access-control-request-method": "DELETE"}
        ) as response:
            assert response.status == 200
        for key, expected in (("k", 200), ("wrong", 401)):
            status, headers, _ = await post(session, url, chat(), authorization=f"Bearer {key}", **page)
            assert "x-request-id" in headers["access-control-expose-headers"].lower()
            assert (status, headers["access-control-allow-origin"]) == (expected, "https://app.example")
        status, headers, _ = await post(
            session, url, chat(), authorization="Bearer k", origin="https://evil.example"
        )
        assert status == 403
        assert "access-control-allow-origin" not in headers


async def test_a_proxy_that_is_its_own_backend_says_so():
    port = free_port()
    async with (
        running_proxy(f"http://127.0.0.1:{port}", backend_timeout=1) as first,
        running_proxy(first.url, port=port) as second,
        aiohttp.ClientSession() as session,
    ):
        for url in (first.url, second.url):
            status, _, body = await post(session, f"{url}/v1/chat/completions", chat(tools=False))
            assert (status, json.loads(body)["error"]["code"]) == (508, "loop")


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
async def test_a_callers_key_beside_one_in_the_url_is_the_callers_fault(tools, name):
    async with (
        ScriptedServer() as backend,
        running_proxy(backend.url.replace("//", "//user:s3cret@")) as runtime,
        aiohttp.ClientSession() as session,
    ):
        url = f"{runtime.url}/v1/chat/completions"
        status, _, body = await post(session, url, chat(tools=tools), **{name: "Bearer t"})
        async with session.get(f"{runtime.url}/v1/models", headers={name: "t"}) as response:
            assert response.status == 400
    assert (status, json.loads(body)["error"]["code"]) == (400, "multiple_credentials")
    assert b"s3cret" not in body
    assert backend.chats == []


# -- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools", [True, False])
async def test_streams_leave_nothing_to_the_garbage_collector(tools):
    async def one(backend, session, url):
        gate = Gate()
        backend.scripts[:] = [stream_text(["Hel", gate, "lo"])]
        async with session.post(url, json=chat(tools=tools, streamed=True)) as response:
            await response.content.readline()
            await asyncio.sleep(0.07)  # longer than the proxy waits until it watches the client
            gate.set()
            assert (await response.read()).endswith(b"[DONE]\n\n")
        backend.requests.clear()

    async with setup() as (backend, url, session):
        await one(backend, session, url)
        gc.collect()
        gc.disable()
        try:
            found = []
            for _ in range(3):  # something of an earlier test may end in one of them
                for _ in range(8):
                    await one(backend, session, url)
                found.append(gc.collect())
                if found[-1] < 80:
                    break
            # Each stream is some hundred objects, which would stay for seconds, or minutes, where they form a circle.
            assert min(found) < 80
        finally:
            gc.enable()
