"""Rarer faults than those of ``test_faults``: broken framing, odd JSON, answers that come too early or make no sense."""

import asyncio
import contextlib
import gzip
import json
import socket

import pytest
from msgspec.structs import replace
from servers.exchanges import ASK, head, run, started, text
from servers.protocols import PROTOCOLS
from servers.scripted import Script

from forge.clients.transport import Timeouts
from forge.core.events import CallDelta, Finish
from forge.core.request import ChatMessage, Text
from forge.errors import BackendError, BackendUnreachableError, ForgeError, StreamError

pytestmark = pytest.mark.anyio

BIG = replace(ASK, messages=(ChatMessage(role="user", parts=(Text("word " * 2_000_000),)),))


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.name)
def protocol(request):
    return request.param


@pytest.fixture
def full_port():
    """A port whose queue of connections is full: what comes is neither taken nor refused."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def test_a_connection_that_nobody_takes(protocol, full_port):
    with pytest.raises(BackendUnreachableError) as caught:
        await run(
            protocol, root=f"http://127.0.0.1:{full_port}", timeouts=Timeouts(connect=0.2, first_byte=30)
        )
    assert isinstance(caught.value.cause, TimeoutError)


# -- framing ------------------------------------------------------------------------------------------------

BROKEN_FRAMING = [
    pytest.param(lambda p: head(p, "Transfer-Encoding: chunked") + b"zz\r\nHello\r\n", id="a bad chunk size"),
    pytest.param(
        lambda p: head(p, "Content-Encoding: gzip", "Connection: close") + b"\x1f\x8bnot packed at all",
        id="broken gzip",
    ),
    pytest.param(
        lambda p: (
            head(p, "Content-Encoding: gzip", "Connection: close")
            + gzip.compress(b"".join(p.stream("Hello")))[:60]
        ),
        id="cut gzip",
    ),
]


@pytest.mark.parametrize("answer", BROKEN_FRAMING)
async def test_broken_framing(protocol, answer):
    with pytest.raises((StreamError, BackendError, BackendUnreachableError)):
        await run(protocol, *[Script([answer(protocol)], raw=True)] * 2)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n", id="a long line"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X-Many: x\r\n" * 100_000 + b"\r\n", id="many lines"),
    ],
)
async def test_a_head_without_end(protocol, answer):
    with pytest.raises((BackendUnreachableError, StreamError, BackendError)):
        await run(protocol, *[Script([answer], raw=True)] * 2)


async def test_hints_before_the_answer(protocol):
    body = b"".join(protocol.stream("Hello"))
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
        + head(protocol, f"Content-Length: {len(body)}")
        + body
    )

    assert text(await run(protocol, Script([answer], raw=True))) == "Hello"


async def test_an_answer_without_content(protocol):
    with pytest.raises((StreamError, BackendError)):
        await run(protocol, Script([b"HTTP/1.1 204 No Content\r\n\r\n"], raw=True))


# -- JSON ---------------------------------------------------------------------------------------------------


def with_event(protocol, data):
    """A stream with ``data`` as it stands in the middle, as an event or a line."""
    event = b"data: %b\n\n" % data if protocol.kind == "text/event-stream" else data + b"\n"
    return protocol.script([*started(protocol), event, *protocol.stream("lo")[len(protocol.head) :]])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[" * 100_000, id="endless nesting"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep nesting"),
        pytest.param(b"[1, 2]", id="a list"),
        pytest.param(b'"text"', id="a string"),
        pytest.param(b"\xff\xfe\x00", id="bytes"),
    ],
)
async def test_an_event_of_another_kind(protocol, data):
    deltas = []
    with pytest.raises((BackendError, StreamError)) as caught:
        await run(protocol, with_event(protocol, data), deltas=deltas)
    assert caught.value.status == 502
    assert text(deltas) == "Hel"


async def test_half_of_a_surrogate_pair(protocol):
    first, second = (
        protocol.frame(protocol.text("@")).replace(b"@", half) for half in (rb"\ud83d", rb"\ude00")
    )
    script = protocol.script(
        [*protocol.events(*protocol.head), first, second, *protocol.stream()[len(protocol.head) :]]
    )

    said = text(await run(protocol, script))
    said.encode("utf-8")
    assert len(said) in (1, 2)  # joined, or a mark for each


@pytest.mark.parametrize("wrong", [7, 1.5, True, "x", [], [7], {}, {"a": [None]}], ids=repr)
async def test_values_of_the_wrong_type(protocol, wrong):
    """Nothing but our own errors, and no hanging, whatever stands where something else belongs."""

    def spoiled(value):
        """``value`` with each of its members in turn replaced, at every depth."""
        members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for key, member in members:
            for other in (wrong, *(spoiled(member) if isinstance(member, dict | list) else ())):
                copy = dict(value) if isinstance(value, dict) else list(value)
                copy[key] = other
                yield copy

    for original in (*protocol.head, protocol.text("Hel"), *protocol.calls, *protocol.tail):
        events = [event for event in spoiled(original) if isinstance(event, dict)]
        script = protocol.script([*protocol.events(*events), *protocol.stream("lo")])
        deltas = []
        with contextlib.suppress(ForgeError):
            await run(protocol, script, deltas=deltas)
        for delta in deltas:
            if isinstance(delta, CallDelta):
                assert isinstance(delta.name, str | None)
                assert isinstance(delta.arguments, str)
        assert isinstance(text(deltas), str)


# -- too early, too much ------------------------------------------------------------------------------------


@pytest.fixture
async def hasty_server(protocol):
    """Refuses a request as soon as it has its head, reads none of its body, and hangs up when that was sent."""
    body = json.dumps(protocol.error).encode()
    refusal = (
        b"HTTP/1.1 413 Payload Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )

    connections = []

    async def refuse(reader, writer):
        connections.append(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refusal)
        await writer.drain()
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            while await reader.read(2**16):
                pass
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await asyncio.gather(*connections)
    await server.wait_closed()


async def test_a_refusal_while_the_request_is_still_being_sent(protocol, hasty_server):
    with pytest.raises(BackendError, match="engine broke") as caught:
        await run(protocol, root=hasty_server, request=BIG)
    assert caught.value.status_code == 413


async def test_words_after_the_end_are_not_part_of_the_answer(protocol):
    script = protocol.script([*protocol.stream("Hello"), *protocol.events(protocol.text(" and more"))])

    deltas = await run(protocol, script)

    assert text(deltas) == "Hello"
    assert [delta for delta in deltas if isinstance(delta, Finish)] == [deltas[-1]]


async def test_an_error_with_a_good_status(protocol):
    script = Script([json.dumps(protocol.error).encode()], 200, {"Content-Type": "application/json"})
    with pytest.raises(BackendError, match="engine broke"):
        await run(protocol, script)


async def test_an_error_page_without_end(protocol):
    script = Script([b"x" * 1000], 500, {"Content-Type": "text/plain"}, endless=b"x" * 1000)
    with pytest.raises(BackendError) as caught:
        await run(protocol, script)
    assert caught.value.status_code == 500
    assert len(caught.value.body) < 200_000
