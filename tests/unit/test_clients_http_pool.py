import asyncio
from contextlib import aclosing, asynccontextmanager, suppress

import pytest
from servers.raw import raw_connections
from yarl import URL

from forge.clients.http_pool import HttpPool
from forge.clients.transport import Transport

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MORE_THAN_BUFFERS_HOLD = 64 * 2**20


@asynccontextmanager
async def server(serve):
    async with raw_connections(serve) as port:
        yield URL(f"http://127.0.0.1:{port}/v1?a=b%20c")


async def until_left(reader, left):
    """Take what comes until the client is gone, and set ``left``."""
    with suppress(ConnectionError):
        while await reader.read(2**16):
            pass
    left.set()


def pool():
    return aclosing(HttpPool(5))


class Recording:
    """Answers every request with OK, and keeps the heads and the bodies."""

    def __init__(self, before=b""):
        self.before = before
        self.heads = []
        self.bodies = []
        self.connections = 0

    async def __call__(self, reader, writer):
        self.connections += 1
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
            self.heads.append((head.split("\r\n", 1)[0], fields))
            self.bodies.append(await reader.readexactly(int(fields.get("Content-Length", 0))))
            writer.write(self.before + OK)
            await writer.drain()


async def ask(pool, url, method="POST", headers=None, body=None):
    answer = await pool.request(method, url, headers or {}, body)
    try:
        return answer.status, await answer.content.read()
    finally:
        answer.close()


async def test_the_head_of_a_request():
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        assert await ask(connections, url, headers={"Authorization": "Bearer k"}, body=b"{}") == (200, b"ok")
    line, fields = seen.heads[0]
    assert line == "POST /v1?a=b%20c HTTP/1.1"
    assert fields.pop("User-Agent")
    assert fields == {
        "Host": f"127.0.0.1:{url.port}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Authorization": "Bearer k",
        "Content-Type": "application/json",
        "Content-Length": "2",
    }
    assert seen.bodies == [b"{}"]


async def test_each_request_goes_out_with_its_own_headers_and_length():
    seen = Recording()
    sent = [({"X-A": "1"}, b"1"), ({"X-A": "2"}, b"22"), ({}, b""), ({"X-A": "1"}, b"1" * 200_000)]
    async with server(seen) as url, pool() as connections:
        for headers, body in sent:
            await ask(connections, url, headers=headers, body=body)
    assert [(fields.get("X-A"), body) for (_, fields), body in zip(seen.heads, seen.bodies, strict=True)] == [
        (headers.get("X-A"), body) for headers, body in sent
    ]
    assert [fields["Content-Length"] for _, fields in seen.heads] == ["1", "2", "0", "200000"]
    assert seen.connections == 1


async def test_headers_that_change_in_the_callers_hands_are_seen():
    seen = Recording()
    headers = {"X-A": "1"}
    async with server(seen) as url, pool() as connections:
        await ask(connections, url, headers=headers, body=b"")
        headers["X-A"] = "2"
        await ask(connections, url, headers=headers, body=b"")
    assert [fields["X-A"] for _, fields in seen.heads] == ["1", "2"]


async def test_a_given_header_takes_the_place_of_ours_however_it_is_written():
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        await ask(connections, url, headers={"content-type": "text/plain", "content-length": "9"}, body=b"x")
    fields = {name.lower(): value for name, value in seen.heads[0][1].items()}
    assert fields["content-type"] == "text/plain"
    assert fields["content-length"] == "1"


@pytest.mark.parametrize(("method", "length"), [("GET", None), ("POST", "0"), ("DELETE", "0")])
async def test_a_request_without_a_body(method, length):
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        assert await ask(connections, url, method) == (200, b"ok")
    assert seen.heads[0][1].get("Content-Length") == length


async def test_a_password_in_the_url_is_sent_as_credentials():
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        await ask(connections, url.with_user("u").with_password("p"), "GET")
    assert seen.heads[0][1]["Authorization"] == "Basic dTpw"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: b", "a\nb", "a\rb", "a\0b"])
async def test_a_header_that_would_be_two_is_refused_and_nothing_is_sent(value):
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        for _ in range(2):
            with pytest.raises(ValueError, match="line's end"):
                await ask(connections, url, headers={"X-A": value})
    assert seen.connections == 0


async def test_interim_answers_are_passed_over():
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    seen = Recording(before=interim)
    async with server(seen) as url, pool() as connections:
        for _ in range(2):
            assert await ask(connections, url, body=b"{}") == (200, b"ok")
    assert seen.connections == 1


async def test_an_answer_without_a_body_gives_its_connection_back():
    class NoContent(Recording):
        async def __call__(self, reader, writer):
            self.connections += 1
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    seen = NoContent()
    async with server(seen) as url, pool() as connections:
        for _ in range(2):
            assert await ask(connections, url, "GET") == (204, b"")
    assert seen.connections == 1


async def test_many_urls_do_not_pile_up():
    seen = Recording()
    async with server(seen) as url, pool() as connections:
        for number in range(200):
            await ask(connections, url.with_query(n=number), "GET")
        assert len(connections._targets) <= 64
    assert seen.connections == 1


async def test_a_request_that_is_answered_before_it_was_taken_whole():
    """The rest of it may never be taken: its connection is not used again, and closing it waits for nobody."""
    closed = asyncio.Event()

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await until_left(reader, closed)

    async with server(refuse) as url, pool() as connections:
        answer = await connections.request("POST", url, {}, b"x" * MORE_THAN_BUFFERS_HOLD)
        assert answer.status == 413
        answer.close()
        async with asyncio.timeout(30):
            await closed.wait()


async def test_a_request_that_is_left_while_it_is_sent_closes_its_connection():
    begun, closed = asyncio.Event(), asyncio.Event()

    async def take_little(reader, _):
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        await until_left(reader, closed)

    async with server(take_little) as url:
        transport = Transport()
        asked = asyncio.create_task(transport.answer("POST", url, {}, b"x" * MORE_THAN_BUFFERS_HOLD))
        async with asyncio.timeout(30):
            await begun.wait()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await closed.wait()
        await transport.aclose()


async def test_a_reader_that_waits_hears_of_the_close():
    async def half(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK[:-1])
        await reader.read()

    async with server(half) as url, pool() as connections:
        answer = await connections.request("GET", url, {}, None)
        reading = asyncio.create_task(answer.content.read())
        await asyncio.sleep(0)
        answer.close()
        with pytest.raises(Exception, match="closed"):
            await reading


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (b"Content-Type: Text/Event-Stream; charset=utf-8\r\n", "text/event-stream"),
        (b"content-type:application/json\r\n", "application/json"),
        (b"", "application/octet-stream"),
    ],
)
async def test_the_content_type(given, kind):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: 0\r\n\r\n" % given)
        await writer.drain()

    async with server(serve) as url, pool() as connections:
        answer = await connections.request("GET", url, {}, None)
        assert answer.content_type == kind
        answer.close()
