"""What a misbehaving server can do to a client, over a real socket: each fault gives the right typed error, or is
read all the same, within its time limit; nothing hangs and nothing is left open.
"""

import gzip
import json

import pytest
from servers.exchanges import calls, head, run, started, text
from servers.ports import refusing_port
from servers.protocols import PROTOCOLS
from servers.scripted import Gate, Script, ScriptedServer

from forge.clients.transport import Timeouts
from forge.core.events import Finish
from forge.errors import BackendError, BackendUnreachableError, StreamError

pytestmark = pytest.mark.anyio

SHORT = Timeouts(connect=30, first_byte=0.1)
STALL = Timeouts(connect=30, first_byte=30, between_bytes=0.4)
HTML = b"<html><body><h1>Bad Gateway</h1></body></html>"


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.name)
def protocol(request):
    return request.param


# -- no answer ----------------------------------------------------------------------------------------------


async def test_connection_refused(protocol):
    with refusing_port() as port, pytest.raises(BackendUnreachableError):
        await run(protocol, root=f"http://127.0.0.1:{port}")


NO_ANSWER = [
    pytest.param(Script([], raw=True, reset=True), id="reset before the head"),
    pytest.param(Script([b"HTTP/1.1 200 OK\r\nContent-"], raw=True, reset=True), id="reset in the head"),
    pytest.param(Script([], raw=True), id="closed without a word"),
    pytest.param(Script([b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], raw=True), id="another protocol"),
]


@pytest.mark.parametrize("script", NO_ANSWER)
async def test_no_answer(protocol, script):
    # The first loss of a connection may be its age, so it is tried once more.
    with pytest.raises(BackendUnreachableError):
        await run(protocol, script, script)


async def test_a_stall_before_the_head(protocol):
    with pytest.raises(BackendUnreachableError) as caught:
        await run(protocol, Script([Gate()], raw=True), timeouts=SHORT)
    assert isinstance(caught.value.cause, TimeoutError)


# -- an answer that ends too early, or not at all ------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "reset"])
@pytest.mark.parametrize("begun", [False, True], ids=["before anything", "in the middle"])
async def test_a_stream_that_breaks(protocol, how, begun):
    deltas = []
    with pytest.raises(StreamError):
        await run(protocol, protocol.script(started(protocol) if begun else [], **{how: True}), deltas=deltas)
    # A reset may overtake what was sent before it.
    assert text(deltas) in (("Hel", "") if how == "reset" and begun else ("Hel",) if begun else ("",))


@pytest.mark.parametrize("begun", [False, True], ids=["after the head", "in the middle"])
async def test_a_stream_that_stalls(protocol, begun):
    deltas = []
    with pytest.raises(StreamError):
        await run(
            protocol,
            protocol.script([*(started(protocol) if begun else []), Gate()]),
            timeouts=STALL,
            deltas=deltas,
        )
    assert text(deltas) == ("Hel" if begun else "")


async def test_half_a_line(protocol):
    half = protocol.frame(protocol.text("lo"))[:-8]
    deltas = []
    with pytest.raises(StreamError):
        await run(protocol, protocol.script([*started(protocol), half]), deltas=deltas)
    assert text(deltas) == "Hel"


async def test_an_empty_body(protocol):
    with pytest.raises(StreamError):
        await run(protocol, protocol.script([b" "]))


async def test_a_body_shorter_than_announced(protocol):
    answer = head(protocol, "Content-Length: 9999") + b"".join(started(protocol))
    with pytest.raises(StreamError):
        await run(protocol, Script([answer], raw=True))


async def test_a_stream_that_never_ends(protocol):
    """Comments or blank lines keep it alive for ever; only a limit on the whole answer ends that."""
    filler = b":\n\n" if protocol.kind == "text/event-stream" else b"\n"
    script = protocol.script(started(protocol), endless=filler)
    deltas = []
    for total in (0.1, 2):  # a busy machine may not come to its beginning in so little time
        with pytest.raises((StreamError, BackendUnreachableError)) as caught:
            await run(protocol, script, timeouts=Timeouts(total=total), deltas=deltas)
        if deltas:
            break
    assert caught.type is StreamError
    assert text(deltas) == "Hel"


# -- errors -------------------------------------------------------------------------------------------------


async def test_an_html_error_page(protocol):
    with pytest.raises(BackendError) as caught:
        await run(protocol, Script([HTML], 502, {"Content-Type": "text/html"}))
    assert caught.value.status_code == 502
    assert "<" not in str(caught.value)
    assert "Bad Gateway" in caught.value.body


async def test_an_html_page_instead_of_an_answer(protocol):
    with pytest.raises((BackendError, StreamError)) as caught:
        await run(protocol, Script([HTML], 200, {"Content-Type": "text/html"}))
    assert caught.value.status == 502


async def test_an_answer_that_is_no_json(protocol):
    bad = b"data: {not json\n\n" if protocol.kind == "text/event-stream" else b"{not json\n"
    deltas = []
    with pytest.raises(BackendError) as caught:
        await run(protocol, protocol.script([*started(protocol), bad]), deltas=deltas)
    assert caught.value.status == 502
    assert text(deltas) == "Hel"


@pytest.mark.parametrize(("status", "hint"), [(429, "7"), (503, None), (401, None), (404, None), (500, None)])
async def test_error_statuses(protocol, status, hint):
    headers = {"Content-Type": "application/json", **({"Retry-After": hint} if hint else {})}
    with pytest.raises(BackendError) as caught:
        await run(protocol, Script([json.dumps(protocol.error).encode()], status, headers))
    assert (caught.value.status_code, caught.value.retry_after) == (status, hint)
    assert "engine broke" in str(caught.value)


async def test_an_error_in_the_middle(protocol):
    deltas = []
    with pytest.raises(BackendError, match="engine broke") as caught:
        await run(
            protocol,
            protocol.script([*started(protocol), protocol.frame(protocol.error)]),
            deltas=deltas,
        )
    assert caught.value.status_code == 500
    assert text(deltas) == "Hel"


async def test_a_redirect_to_another_host(protocol):
    async with ScriptedServer([Script([b"{}"])]) as elsewhere:
        with pytest.raises(BackendError) as caught:
            await run(protocol, Script([b"x"], 307, {"Location": f"{elsewhere.url}/v1/messages"}))
        assert caught.value.status_code == 307
        assert elsewhere.requests == []


# -- what is read all the same ------------------------------------------------------------------------------


def readable(protocol):
    whole = json.dumps(protocol.whole("Hello")).encode()
    packed = gzip.compress(b"".join(protocol.stream("Hel", "lo")))
    return {
        "one byte at a time": protocol.script([bytes([b]) for b in b"".join(protocol.stream("Hel", "lo"))]),
        "gzip": protocol.script([packed[:20], packed[20:]], headers={"Content-Encoding": "gzip"}),
        "another content type": protocol.script(
            protocol.stream("Hel", "lo"), headers={"Content-Type": "text/plain"}
        ),
        "a whole answer": Script([whole], 200, {"Content-Type": "application/json"}),
        "CR LF": protocol.script([b"".join(protocol.stream("Hel", "lo")).replace(b"\n", b"\r\n")]),
        "blank lines": protocol.script([b"\n\n", *protocol.stream("Hel", "lo")]),
        "null everywhere": protocol.script(
            [*protocol.events(*protocol.nulls, *protocol.tail), protocol.done]
        ),
        "never hanging up": protocol.script([*protocol.stream("Hel", "lo"), Gate()]),
    }


@pytest.mark.parametrize("how", readable(PROTOCOLS[0]))
async def test_read_all_the_same(protocol, how):
    deltas = await run(protocol, readable(protocol)[how])

    assert text(deltas) == "Hello"
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "stop"


async def test_a_line_of_ten_megabytes(protocol):
    long = "word " * 2_000_000

    assert text(await run(protocol, protocol.script(protocol.stream(long)))) == long


async def test_calls_under_the_same_index(protocol):
    script = protocol.script(
        [*protocol.events(*protocol.head, *protocol.calls, *protocol.tail), protocol.done]
    )

    assert calls(await run(protocol, script)) == [("f", {"a": 1}), ("g", {"b": 2})]


async def test_utf8_that_was_cut(protocol):
    broken = protocol.frame(protocol.text("Hel@lo")).replace(b"@", b"\xce")
    script = protocol.script(
        [*protocol.events(*protocol.head), broken, *protocol.events(*protocol.tail), protocol.done]
    )

    assert text(await run(protocol, script)) == "Hel\ufffdlo"
