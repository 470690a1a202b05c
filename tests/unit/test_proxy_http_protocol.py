"""The bounds below ASGI, over raw sockets: what a well-behaved client library would never send."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from forge.proxy.limits import Limits
from forge.proxy.server import HTTPServer, bind

pytestmark = pytest.mark.anyio


async def echo(scope, receive, send):
    """Answers with the length of the body it was sent."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(size).encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]}
    )
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(**limits):
    server = HTTPServer(echo, bind("127.0.0.1", 0), Limits(**limits))
    started = asyncio.Event()
    task = asyncio.create_task(server.serve(started.set))
    await started.wait()
    try:
        yield server.port
    finally:
        server.force()
        await task


async def exchange(port, data, *, then=b""):
    """Send ``data`` and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    await writer.drain()
    if then:
        writer.write(then)
    try:
        return await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()


def status(answer):
    return int(answer.split(b" ", 2)[1])


CLOSE = b"Host: localhost\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "body"),
    [
        pytest.param(b"POST / HTTP/1.1\r\n" + CLOSE + b"Content-Length: 3\r\n\r\nabc", b"3", id="length"),
        pytest.param(
            b"POST / HTTP/1.1\r\n"
            + CLOSE
            + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            b"3",
            id="chunked",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + CLOSE + b"X: " + b"a" * 900 + b"\r\n\r\n", b"0", id="headers-in-bounds"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\n" + CLOSE + b"Content-Length: 9000\r\n\r\n" + b"a" * 9000,
            b"9000",
            id="a-body-is-no-head",
        ),
        pytest.param(b"GET http://localhost/ HTTP/1.1\r\n" + CLOSE + b"\r\n", b"0", id="absolute-form"),
    ],
)
async def test_served(request_bytes, body):
    async with serving(header_bytes=2000) as port:
        answer = await exchange(port, request_bytes)
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 3000 + b"\r\n\r\n", 431, id="one-huge-header"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n", 431, id="many-headers"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 3000, 431, id="endless-header"),
        pytest.param(b"GET /" + b"a" * 3000, 414, id="endless-target"),
        pytest.param(b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, id="long-target"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 201 + b"\r\n", 431, id="too-many-headers"),
        pytest.param(b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, id="version"),
        pytest.param(b"NONSENSE\r\n\r\n", 400, id="no-http"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            id="smuggling",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, id="two-lengths"
        ),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc", 400, id="signed-length"),
        pytest.param(b"GET / HTTP/1.1\r\nHeader : x\r\n\r\n", 400, id="space-before-colon"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n Authorization: x\r\n\r\n", 400, id="folded-header"),
    ],
)
async def test_refused_in_the_shape_that_clients_parse(request_bytes, expected):
    async with serving(header_bytes=2000) as port:
        answer = await exchange(port, request_bytes)
    head, body = answer.split(b"\r\n\r\n")[-2:]
    assert status(head[head.rindex(b"HTTP/1.1") :]) == expected
    assert json.loads(body)["error"].keys() == {"message", "type", "param", "code"}


async def test_the_bounds_hold_for_each_request_on_a_connection():
    async with serving(header_bytes=2000) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):  # together more than the bound
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 900 + b"\r\n\r\n")
            assert status(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n0"), 30)) == 200
        writer.write(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n")
        assert status(await asyncio.wait_for(reader.read(), 30)) == 431
        writer.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n", id="unfinished-head"),
    ],
)
async def test_a_head_that_does_not_come_closes_the_connection(request_bytes):
    async with serving(header_seconds=0.05) as port:
        assert await exchange(port, request_bytes) == b""


async def test_a_slow_second_head_closes_the_connection():
    async with serving(header_seconds=0.5) as port:
        answer = await exchange(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", then=b"GET / HT")
    assert status(answer) == 200


async def test_connections_beyond_the_limit_are_refused():
    async with serving(connections=1) as port:
        _, first = await asyncio.open_connection("127.0.0.1", port)
        answer = await exchange(port, b"")
        first.close()
    assert status(answer) == 503
    assert b"retry-after: " in answer.lower()


async def test_pipelined_requests_are_answered_in_order():
    one = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
    two = b"POST / HTTP/1.1\r\n" + CLOSE + b"Content-Length: 2\r\n\r\nab"
    async with serving() as port:
        answer = await exchange(port, one + two)
    assert [line for line in answer.split(b"\r\n") if line.isdigit() or line[:1].isdigit()]
    assert answer.index(b"\r\n\r\n1HTTP/1.1") < len(answer)
    assert answer.endswith(b"\r\n\r\n2")


async def test_an_answer_without_a_body_is_its_head():
    keeps = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
    closes = b"HEAD / HTTP/1.1\r\n" + CLOSE + b"\r\n"
    async with serving() as port:
        first, second, end = (await exchange(port, keeps, then=closes)).split(b"\r\n\r\n")
    assert status(first) == status(second) == 200
    assert end == b""


async def test_expect_100_continue():
    async with serving() as port:
        head = b"POST / HTTP/1.1\r\n" + CLOSE + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        assert b"100 Continue" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        writer.write(b"abc")
        assert (await asyncio.wait_for(reader.read(), 30)).endswith(b"3")
        writer.close()
