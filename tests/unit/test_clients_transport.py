import asyncio
import gzip
import shutil
import ssl
from contextlib import asynccontextmanager

import pytest
from servers.raw import raw_connections
from servers.scripted import Gate, Script, ScriptedServer
from yarl import URL

from forge.clients.transport import Timeouts, Transport
from forge.errors import BackendError, BackendUnreachableError, StreamError

pytestmark = pytest.mark.anyio

SECRET = "s3cret"


@asynccontextmanager
async def raw_server(*answers):
    """Answers each connection's first request with the next of ``answers`` (None: no answer), then closes it."""
    left = list(answers)
    seen = []

    async def serve(reader, writer):
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        answer = left.pop(0) if left else None
        if answer is not None:
            writer.write(answer)
            await writer.drain()

    async with raw_connections(serve) as port:
        yield URL(f"http://u:{SECRET}@127.0.0.1:{port}/v1?key={SECRET}"), seen


async def get(url, timeouts=None, headers=None):
    transport = Transport(timeouts)
    try:
        async with transport.open("GET", url, headers=headers or {}) as incoming:
            return incoming.status, await incoming.read()
    finally:
        await transport.aclose()


def chat_url(server):
    return URL(server.url) / "v1/chat/completions"


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def test_an_answer():
    async with raw_server(OK) as (url, _):
        assert await get(url) == (200, b"ok")


BROKEN = [
    pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", id="shorter than announced"),
    pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", id="no last chunk"),
    pytest.param(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        id="not the encoding it says",
    ),
]


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_body_that_breaks_off_is_a_stream_error(answer):
    async with raw_server(answer) as (url, _):
        with pytest.raises(StreamError) as caught:
            await get(url)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([None, None], id="closed without a word"),
        pytest.param([b"HTTP/1.1 2", b"HTTP/1.1 2"], id="closed in the head"),
        pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], id="no chunk size"),
        pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n"] * 2, id="not http"),
    ],
)
async def test_no_answer_is_unreachable(answers):
    async with raw_server(*answers) as (url, _):
        with pytest.raises(BackendUnreachableError) as caught:
            await get(url)
        assert SECRET not in str(caught.value)
        assert "127.0.0.1" in str(caught.value)


async def test_a_connection_that_died_before_the_answer_is_tried_once_more():
    async with raw_server(None, OK) as (url, seen):
        assert await get(url) == (200, b"ok")
        assert len(seen) == 2


async def test_nobody_listens():
    async with raw_server() as (url, _):
        pass
    with pytest.raises(BackendUnreachableError) as caught:
        await get(url)
    assert SECRET not in str(caught.value)


async def test_an_unknown_host():
    with pytest.raises(BackendUnreachableError):
        await get(URL("http://nobody.invalid/"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_refused_and_carry_nothing_on(status):
    async with raw_server(OK) as (elsewhere, seen):
        answer = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n".encode()
        async with raw_server(answer) as (url, _):
            with pytest.raises(BackendError, match="redirect") as caught:
                await get(url)
        assert seen == []
        assert SECRET not in str(caught.value)


async def test_proxies_of_the_environment_are_ignored(monkeypatch):
    async with raw_server() as (proxy, seen_by_proxy), raw_server(OK) as (url, _):
        monkeypatch.setenv("http_proxy", str(proxy))
        monkeypatch.setenv("HTTP_PROXY", str(proxy))
        assert await get(url) == (200, b"ok")
        assert seen_by_proxy == []


async def test_cookies_are_not_kept():
    answer = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\nConnection: close\r\n\r\n")
    async with raw_server(answer, OK) as (url, seen):
        transport = Transport()
        for _ in range(2):
            async with transport.open("GET", url, headers={}) as incoming:
                await incoming.read()
        await transport.aclose()
        assert b"cookie" not in seen[1].lower()


async def test_gzip_is_undone():
    packed = gzip.compress(b"hello")
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (
        len(packed),
        packed,
    )
    async with raw_server(answer) as (url, _):
        assert await get(url) == (200, b"hello")


async def test_an_answer_that_never_begins_times_out():
    gate = Gate()
    async with ScriptedServer() as server:

        async def silent(reader, writer):
            await gate.wait()
            writer.close()

        listener = await asyncio.start_server(silent, "127.0.0.1", 0)
        async with listener:
            url = URL(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")
            with pytest.raises(BackendUnreachableError, match="no answer in time"):
                await get(url, Timeouts(first_byte=0.05))
            gate.set()
        assert server.requests == []


async def test_an_answer_that_stalls_times_out():
    gate = Gate()
    async with ScriptedServer([Script([b"a", gate, b"b"])]) as server:
        transport = Transport(Timeouts(first_byte=30, between_bytes=0.3))
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            assert await incoming.next_piece() == b"a"
            with pytest.raises(StreamError, match="stalled"):
                await incoming.next_piece()
        await transport.aclose()


async def test_a_reader_that_takes_its_time_is_no_stall():
    async with ScriptedServer([Script([b"a", b"b"])]) as server:
        transport = Transport(Timeouts(between_bytes=0.2))
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            await asyncio.sleep(0.4)  # while it waits, both pieces have come
            assert await incoming.read() == b"ab"
        await transport.aclose()


async def test_leaving_an_answer_closes_its_connection():
    gate = Gate()
    async with ScriptedServer([Script([b"a", gate])]) as server:
        transport = Transport()
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            await incoming.next_piece()
        async with asyncio.timeout(30):
            await server.requests[0].gone.wait()
        await transport.aclose()


async def test_a_connection_is_used_again():
    async with ScriptedServer([Script([b"a", b"b"]), Script([b"c"])]) as server:
        transport = Transport()
        for expected in (b"ab", b"c"):
            async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
                assert await incoming.read() == expected
        assert len(server._connections) == 1
        await transport.aclose()


async def test_an_error_body_is_read_and_its_retry_hint_kept():
    script = Script(
        [b'{"error":{"message":"slow down"}}'], 429, {"Content-Type": "application/json", "Retry-After": "7"}
    )
    async with ScriptedServer([script]) as server:
        transport = Transport()
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            error = await incoming.error()
        await transport.aclose()

    assert (error.status_code, error.retry_after) == (429, "7")
    assert "slow down" in str(error)


async def test_closing_twice_is_fine():
    transport = Transport()
    await transport.aclose()
    await transport.aclose()


def test_a_transport_outlives_an_event_loop():
    transport = Transport()

    async def once():
        async with (
            ScriptedServer([Script([b"a"])]) as server,
            transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming,
        ):
            return await incoming.read()

    async def last():
        try:
            return await once()
        finally:
            await transport.aclose()

    assert asyncio.run(once()) == b"a"
    assert asyncio.run(last()) == b"a"


def test_a_transport_that_nobody_closes_closes_with_its_loop():
    """A script that runs one workflow and closes nothing is not scolded by aiohttp when it ends."""
    transport = Transport()

    async def once():
        async with (
            ScriptedServer([Script([b"a"])]) as server,
            transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming,
        ):
            await incoming.read()
        return transport._pool

    session = asyncio.run(once())

    assert session.closed


async def test_a_whole_answer_may_have_a_limit():
    gate = Gate()
    async with ScriptedServer([Script([b"a", gate])]) as server:
        transport = Transport(Timeouts(total=0.5))
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            with pytest.raises(StreamError, match="whole answer"):
                await incoming.read()
        await transport.aclose()


@pytest.mark.parametrize(
    ("headers", "hint", "should"),
    [
        ({"Retry-After": "7", "retry-after-ms": "1"}, "7", None),
        ({"retry-after-ms": "250", "x-should-retry": "true"}, "0.25", True),
        ({"retry-after-ms": "soon", "x-should-retry": "FALSE"}, None, False),
        ({"x-should-retry": "maybe"}, None, None),
    ],
)
async def test_what_a_server_says_about_trying_again(headers, hint, should):
    async with ScriptedServer([Script([b"{}"], 503, headers)]) as server:
        transport = Transport()
        async with transport.open("POST", chat_url(server), headers={}, body=b"{}") as incoming:
            error = await incoming.error()
        await transport.aclose()

    assert (error.retry_after, error.should_retry) == (hint, should)


async def test_tls_to_a_server_that_has_none_is_told_as_such():
    async def accept(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        with pytest.raises(BackendUnreachableError) as caught:
            await get(URL(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))
    assert "http://" in str(caught.value.cause)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
async def test_a_certificate_that_nobody_vouches_for(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    maker = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"),
        *("-keyout", key, "-out", certificate),
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await maker.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        with pytest.raises(BackendUnreachableError) as caught:
            await get(URL(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))
    assert "certificate" in str(caught.value.cause)


async def test_closing_under_a_waiting_request_is_no_reason_to_send_it_again():
    async with ScriptedServer([Script([Gate()])]) as backend:
        transport = Transport()

        async def ask():
            async with transport.open("POST", chat_url(backend), headers={}, body=b"{}"):
                pass

        asking = asyncio.create_task(ask())
        await backend.chat()
        await transport.aclose()
        with pytest.raises(BackendUnreachableError):
            await asyncio.wait_for(asking, 30)
    assert len(backend.chats) == 1
