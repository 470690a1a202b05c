import asyncio

import pytest
from servers.ports import free_port
from servers.scripted import Gate, Script, ScriptedServer, error, stream, whole_text

from forge.errors import BackendError, BackendUnreachableError, StreamError
from forge.proxy.courier import Courier
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio
CHAT = "/v1/chat/completions"


def courier(url, **settings):
    return Courier(url, Settings(backend_url=url, **settings))


async def test_bodies_pass_byte_for_byte():
    script = whole_text("Grüße \\ud83d")
    sent = b'{ "model" : "x",\n\t"odd spacing": [1.0, 1e2] }'
    async with ScriptedServer([script]) as backend:
        road = courier(backend.url)
        async with road.send("POST", CHAT, body=sent, headers={}) as answer:
            received = await answer.read()
        await road.aclose()
    assert received == script.steps[0]
    assert backend.chats[0].body == sent
    assert backend.chats[0].headers["content-type"] == "application/json"


async def test_chunks_come_as_they_are_sent():
    gate = Gate()
    async with ScriptedServer([stream([b"data: 1\n\n", gate, b"data: 2\n\n"])]) as backend:
        road = courier(backend.url)
        async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
            assert await answer.next_piece() == b"data: 1\n\n"
            gate.set()
            assert await answer.read() == b"data: 2\n\n"
        await road.aclose()


async def test_leaving_early_closes_the_connection():
    async with ScriptedServer([stream([b"data: 1\n\n", Gate()])]) as backend:
        road = courier(backend.url)
        async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
            await answer.next_piece()
        await asyncio.wait_for(backend.chats[0].gone.wait(), 30)
        await road.aclose()


async def test_a_read_answer_keeps_the_connection():
    async with ScriptedServer([whole_text("a"), whole_text("b")]) as backend:
        road = courier(backend.url)
        for _ in range(2):
            async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
                await answer.read()
        assert len(backend._connections) == 1
        await road.aclose()


async def test_the_configured_key_is_sent():
    async with ScriptedServer([whole_text("a")]) as backend:
        road = courier(backend.url, backend_api_key="k")
        async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
            await answer.read()
        await road.aclose()
    assert backend.chats[0].headers["authorization"] == "Bearer k"


async def test_credentials_in_the_url_become_a_header():
    async with ScriptedServer([whole_text("a")]) as backend:
        road = courier(backend.url.replace("//", "//user:pass@"))
        async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
            await answer.read()
        await road.aclose()
    assert backend.chats[0].headers["authorization"].startswith("Basic ")
    assert "pass" not in road.shown_url


async def test_redirects_are_not_followed():
    script = Script([b""], 307, {"Location": "http://127.0.0.1:1/elsewhere"})
    async with ScriptedServer([script]) as backend:
        road = courier(backend.url)
        with pytest.raises(BackendError) as caught:
            async with road.send("POST", CHAT, body=b"{}", headers={"x-api-key": "k"}):
                pytest.fail("a redirect is no answer")
        await road.aclose()
    assert caught.value.status == 502
    assert len(backend.requests) == 1


async def test_retry_after_travels_with_the_error():
    async with ScriptedServer([error(503, "busy", "server_error", {"Retry-After": "7"})]) as backend:
        road = courier(backend.url)
        async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
            failure = await answer.error()
        await road.aclose()
    assert (failure.status, failure.retry_after) == (503, "7")


async def test_nobody_there():
    road = courier(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(BackendUnreachableError):
        async with road.send("GET", "/health", headers={}):
            pytest.fail("there is no answer to give")
    assert await road.unreachable() is not None
    await road.aclose()


async def test_silence_is_a_timeout():
    async with ScriptedServer([stream([Gate()])]) as backend:
        road = courier(backend.url, backend_timeout=0.5)
        with pytest.raises(StreamError):
            async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
                await answer.read()
        await road.aclose()


async def test_a_cut_body_is_an_error():
    async with ScriptedServer([stream([b"data: 1\n\n"], cut=True)]) as backend:
        road = courier(backend.url)
        with pytest.raises(StreamError):
            async with road.send("POST", CHAT, body=b"{}", headers={}) as answer:
                await answer.read()
        await road.aclose()


async def test_environment_proxies_are_ignored(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with ScriptedServer() as backend:
        road = courier(backend.url)
        assert await road.unreachable() is None
        await road.aclose()


async def test_the_query_is_passed_and_quoted_where_it_must_be():
    async with ScriptedServer() as backend:
        road = courier(backend.url + "/v1?ignored=1")
        async with road.send("GET", "/v1/models", query=b'a=%20b&c=\xff\x01"', headers={}) as answer:
            await answer.read()
        await road.aclose()
    path, _, query = backend.requests[0].target.partition("?")
    assert path == "/v1/models"
    assert query.startswith("a=%20b&c=")
    assert query.isascii()
    assert query.isprintable()


PAGE = Script([b"<html>It works!</html>"], headers={"Content-Type": "text/html"})


@pytest.mark.parametrize(
    ("pages", "odd"),
    [
        pytest.param({}, "404", id="no-such-page"),
        pytest.param({"/v1/models": PAGE}, "text/html", id="a-page-for-people"),
        pytest.param(
            {"/v1/models": error(401, "no key", "authentication_error")}, None, id="only-with-a-key"
        ),
        pytest.param({"/v1/models": error(503, "loading", "unavailable_error")}, None, id="loading"),
        pytest.param({"/v1/models": whole_text("x")}, None, id="an-object"),
    ],
)
async def test_what_speaks_against_a_model_server(pages, odd):
    async with ScriptedServer(pages=pages) as backend:
        road = courier(backend.url)
        found = await road.oddity()
        await road.aclose()
    assert found is None if odd is None else odd in found


class Waiting:
    """A host that waits for its server, and asks for that itself."""

    generation = 0

    async def ready(self):
        await asyncio.Event().wait()

    async def recovered(self, since):
        await asyncio.Event().wait()


async def test_whoever_waits_for_a_server_can_ask_whether_it_is_there():
    async with ScriptedServer() as backend:
        road = courier(backend.url)
        road.hosted_by(Waiting())
        assert await asyncio.wait_for(road.unreachable(), 4) is None
    error = await asyncio.wait_for(road.unreachable(), 4)
    assert isinstance(error, BackendUnreachableError)
    assert not isinstance(error.cause, TimeoutError)
    await road.aclose()
