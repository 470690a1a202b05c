import asyncio
import errno
import json
import socket

import pytest

from forge.proxy.limits import Limits
from forge.proxy.server import BindError, HTTPServer, bind


def test_a_taken_port_is_named():
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(BindError) as caught:
            bind("127.0.0.1", port)
    assert str(port) in str(caught.value)
    assert caught.value.__cause__.errno == errno.EADDRINUSE


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_a_host_that_is_not_ours(host):
    with pytest.raises(BindError) as caught:
        bind(host, 0)
    assert host in str(caught.value)


def test_a_port_can_be_taken_again_at_once():
    first = bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    client = socket.create_connection(("127.0.0.1", port))
    accepted, _ = first.accept()
    accepted.close()  # the server's side closes first and stays in TIME_WAIT
    client.close()
    first.close()
    bind("127.0.0.1", port).close()


@pytest.mark.anyio
async def test_a_stop_lets_the_request_in_flight_finish():
    entered, release = asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        entered.set()
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    server = HTTPServer(app, bind("127.0.0.1", 0), Limits())
    task = asyncio.create_task(server.serve(lambda: None))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered.wait()
    server.stop()
    await asyncio.sleep(0.3)  # longer than the server needs to see the stop
    assert not task.done()
    release.set()
    assert (await reader.read()).endswith(b"ok")
    await asyncio.wait_for(task, 30)
    writer.close()


@pytest.mark.anyio
async def test_the_drain_has_a_deadline():
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    server = HTTPServer(app, bind("127.0.0.1", 0), Limits(drain_seconds=1))
    task = asyncio.create_task(server.serve(lambda: None))
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered.wait()
    server.stop()
    await asyncio.wait_for(task, 30)
    assert cancelled.is_set()
    writer.close()


@pytest.mark.anyio
async def test_a_connection_is_kept_also_for_less_than_a_second():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    server = HTTPServer(app, bind("127.0.0.1", 0), Limits(keep_alive_seconds=0.99))
    task = asyncio.create_task(server.serve(lambda: None))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for _ in range(2):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await asyncio.wait_for(reader.readuntil(b"ok"), 30)).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(0.05)  # longer than a timer of no time takes
    writer.close()
    server.stop()
    await asyncio.wait_for(task, 30)


@pytest.mark.anyio
@pytest.mark.parametrize("forced", [True, False])
async def test_at_the_end_whoever_has_no_answer_gets_one(forced):
    entered = asyncio.Event()

    async def app(scope, receive, send):
        entered.set()
        await asyncio.Event().wait()

    server = HTTPServer(app, bind("127.0.0.1", 0), Limits(drain_seconds=0.1))
    task = asyncio.create_task(server.serve(lambda: None))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered.wait()
    (server.force if forced else server.stop)()
    head, _, body = (await asyncio.wait_for(reader.read(), 30)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503")
    assert json.loads(body)["error"]["type"] == "overloaded_error"
    await asyncio.wait_for(task, 30)
    writer.close()


@pytest.mark.anyio
async def test_a_forced_end_with_nothing_in_flight_waits_for_no_timer():
    async def app(scope, receive, send):
        pytest.fail("nothing is asked")

    started, server = asyncio.Event(), HTTPServer(app, bind("127.0.0.1", 0), Limits())
    task = asyncio.create_task(server.serve(started.set))
    await started.wait()
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    await asyncio.sleep(0.01)  # the server has the connection and waits for its next look at it
    server.force()
    for _ in range(20):
        await asyncio.sleep(0)
    done = task.done()
    await task
    writer.close()
    assert done
