"""Raw sockets against the whole proxy: what no client library would send. The right status or the end; never a 500,
never a wait without end, nothing that stays behind.
"""

import asyncio
import gc
import json
import socket
import struct
import sys
from contextlib import asynccontextmanager, suppress

import pytest
from servers.running import running_proxy
from servers.scripted import Gate, Script, ScriptedServer, chunk, stream, stream_text, whole_text

from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

TARGET = b"POST /v1/chat/completions HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
CLOSE = b"Connection: close\r\n"
FUNCTION = b'"tools":[{"type":"function","function":{"name":"f","parameters":%s}}]'
ASKED = b'{"role":"user","content":"hi"}'


def body(fields=b"", *, content=b'"hi"', tools=True):
    message = b'{"messages":[{"role":"user","content":%s}]' % content
    return message + (b"," + FUNCTION % b'{"type":"object"}' if tools else b"") + fields + b"}"


def post(data=None, *headers, close=True, more=b""):
    data = body() if data is None else data
    lines = [
        HOST,
        CLOSE if close else b"",
        *(h + b"\r\n" for h in headers),
        b"Content-Length: %d\r\n" % len(data),
    ]
    return TARGET + b"".join(lines) + b"\r\n" + data + more


def chunked(*pieces, close=True):
    return (
        TARGET + HOST + (CLOSE if close else b"") + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)
    )


def get(target, *headers, method=b"GET", version=b"1.1"):
    lines = [b"%s %s HTTP/%s" % (method, target, version), HOST.strip(), CLOSE.strip(), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


class Target:
    """A proxy to be abused and the scripted backend behind it."""

    def __init__(self, backend, runtime):
        self.backend = backend
        self.runtime = runtime
        self.port = int(runtime.url.rpartition(":")[2])

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def exchange(self, data):
        """Send ``data`` and read until the proxy closes."""
        reader, writer = await self.connect()
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(), 30)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def healthy(self):
        assert (await self.exchange(get(b"/forge/health"))).endswith(b'{"status":"ok"}')

    @property
    def connections(self):
        return self.runtime._server._server.server_state.connections

    async def until_empty(self):
        """Until the proxy holds no connection."""
        async with asyncio.timeout(30):
            while self.connections:  # noqa: ASYNC110 - a look from outside; nothing tells of it
                await asyncio.sleep(0.01)


@asynccontextmanager
async def abused(*scripts, **limits):
    async with (
        ScriptedServer(list(scripts)) as backend,
        running_proxy(backend.url, limits=Limits(**limits)) as runtime,
    ):
        yield Target(backend, runtime)


@pytest.fixture(scope="module")
def anyio_backend():
    """The command runs on uvloop where there is uvloop, so the abuse meets that."""
    return "asyncio", {"use_uvloop": sys.platform != "win32"}


@pytest.fixture(scope="module")
async def target(anyio_backend):
    """One proxy for all that should leave it as it was."""
    async with abused(header_seconds=1, body_seconds=1, keep_alive_seconds=1) as target:
        yield target


def status(answer):
    return int(answer.split(b" ", 2)[1])


def error_of(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


# -- requests that are refused, before the backend hears of them -----------------------------------------------------

SMUGGLED = {
    "length-and-chunked": TARGET + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked-and-length": TARGET + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "equal-lengths": TARGET + HOST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "different-lengths": TARGET + HOST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "list-of-lengths": TARGET + HOST + b"Content-Length: 2, 2\r\n\r\n{}",
    "negative-length": TARGET + HOST + b"Content-Length: -1\r\n\r\n{}",
    "signed-length": TARGET + HOST + b"Content-Length: +2\r\n\r\n{}",
    "underscored-length": TARGET + HOST + b"Content-Length: 1_0\r\n\r\n{}",
    "full-width-length": TARGET + HOST + "Content-Length: ２\r\n\r\n{}".encode(),
    "endless-length": TARGET + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "identity": TARGET + HOST + b"Transfer-Encoding: identity\r\n\r\n{}",
    "like-chunked": TARGET + HOST + b"Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "not-last-chunked": TARGET + HOST + b"Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "twice-chunked": TARGET + HOST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\n{}\r\n0\r\n\r\n",
    "folded": TARGET + HOST + b"X: a\r\n Authorization: Bearer b\r\nContent-Length: 2\r\n\r\n{}",
    "space-before-colon": TARGET + HOST + b"Content-Length : 2\r\n\r\n{}",
    "chunk-size-no-number": chunked(b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk-size-0x": chunked(b"0x2\r\n{}\r\n0\r\n\r\n"),
    "chunk-size-negative": chunked(b"-2\r\n{}\r\n0\r\n\r\n"),
    "chunk-size-too-large": chunked(b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    "chunk-without-its-end": chunked(b"2\r\n{}XX0\r\n\r\n"),
    "chunk-bare-line-feeds": chunked(b"2\n{}\n0\n\n"),
    "bare-line-feeds": b"POST /v1/chat/completions HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}",
    "bare-carriage-return": TARGET + HOST + b"X: a\rContent-Length: 2\r\n\r\n{}",
    "nul-in-a-header": TARGET + HOST + b"X: a\0b\r\nContent-Length: 2\r\n\r\n{}",
    "no-host": TARGET + CLOSE + b"Content-Length: 2\r\n\r\n{}",
    "two-hosts": TARGET + HOST * 2 + CLOSE + b"Content-Length: 2\r\n\r\n{}",
    "no-http": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version": get(b"/forge/health", version=b"9.9"),
    "method-in-lower-case": get(b"/forge/health", method=b"get"),
    "unknown-method": get(b"/forge/health", method=b"BREW"),
    "no-target": get(b"forge/health"),
    "control-character-in-target": get(b"/v1/models?a=\x01"),
}
BODIES = {
    "empty": b"",
    "no-json": b"hi",
    "nul-bytes": b"\0" * 10,
    "null": b"null",
    "a-list": b"[]",
    "more-behind-it": body() + b" x",
    "utf-16": body().decode().encode("utf-16"),
    "no-utf-8": body(content=b'"\xff"'),
    "surrogate-as-utf-8": body(content=b'"\xed\xa0\x80"'),
    "deep": b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep-schema": b'{"messages":[%s],%s}'
    % (ASKED, FUNCTION % (b'{"properties":{"a":' * 500 + b"1" + b"}}" * 500)),
    "messages-null": b'{"messages":null}',
    "unfinished-escape": b'{"messages":"\\u12"}',
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in SMUGGLED.items()])
async def test_what_is_no_clean_http_is_a_400_and_the_end(target, data):
    answer = await target.exchange(data)
    assert status(answer) == 400
    assert error_of(answer)["message"]
    assert target.backend.chats == []


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in BODIES.items()])
async def test_what_is_no_request_is_a_400(target, data):
    answer = await target.exchange(post(data))
    assert status(answer) == 400
    assert error_of(answer)["type"] == "invalid_request_error"
    assert target.backend.chats == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(get(b"/forge/health", version=b"1.0"), 200, id="http-1.0"),
        pytest.param(get(b"http://localhost/forge/health"), 200, id="absolute-form"),
        pytest.param(get(b"http://evil.example/forge/health"), 403, id="absolute-form-of-another-host"),
        pytest.param(get(b"http://a@evil.example/forge/health"), 403, id="absolute-form-with-a-user"),
        pytest.param(get(b"/%00"), 404, id="nul-in-the-path"),
        pytest.param(get(b"/%zz%ff"), 404, id="bad-escapes"),
        pytest.param(get(b"*", method=b"OPTIONS"), 404, id="options-of-all"),
        pytest.param(get(b"/", method=b"TRACE"), 405, id="trace"),
        pytest.param(get(b"/v1/chat/completions", method=b"HEAD"), 405, id="head-of-a-door"),
        pytest.param(get(b"/v1/models", method=b"HEAD"), 200, id="head"),
        pytest.param(get(b"/forge/health", b"Upgrade: h2c", b"HTTP2-Settings: AA"), 200, id="upgrade"),
        pytest.param(post(b"{}", b"Content-Encoding: gzip"), 415, id="compressed"),
        pytest.param(post(None, b"Authorization: Bearer \xe9"), 400, id="key-outside-ascii"),
        pytest.param(post(None, b"Authorization: Bearer a", b"authorization: Bearer a"), 400, id="two-keys"),
        pytest.param(post(None, b"X-Api-Key: a", b"Authorization: Bearer b"), 400, id="different-keys"),
        pytest.param(post(None, b"Origin: https://evil.example"), 403, id="foreign-page"),
        pytest.param(get(b"/forge/health", b"X: " + b"a" * 70_000), 431, id="huge-header"),
        pytest.param(get(b"/forge/health", *[b"X: y"] * 250), 431, id="many-headers"),
        pytest.param(get(b"/" + b"a" * 70_000), 414, id="huge-target"),
    ],
)
async def test_the_right_status(target, data, expected):
    assert status(await target.exchange(data)) == expected
    assert target.backend.chats == []


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize(
    ("data", "headers"),
    [
        pytest.param({"content": b'"\\ud800"'}, [], id="lone-surrogate"),
        pytest.param({"content": b'"\\u0000"'}, [], id="nul"),
        pytest.param({"fields": b',"temperature":1e999'}, [], id="infinite"),
        pytest.param({"fields": b',"seed":' + b"9" * 5000}, [], id="endless-number"),
        pytest.param({"fields": b',"x":' + b"[" * 200 + b"]" * 200}, [], id="deep-but-not-ours"),
        pytest.param({"fields": b',"model":"a","model":"b"'}, [], id="a-key-twice"),
        pytest.param({}, [b"Content-Type: text/plain"], id="text"),
        pytest.param({}, [b"Content-Type: application/x-www-form-urlencoded"], id="curls-default"),
        pytest.param({}, [b"Content-Type: \xff/\xff"], id="no-content-type"),
        pytest.param({}, [b"Authorization: Bearer"], id="scheme-only"),
        pytest.param({}, [b"Authorization: Bearer a", b"X-Api-Key: a"], id="an-equal-pair"),
        pytest.param({}, [b"X-Duplicate-Auth: 1"], id="a-header-of-no-meaning"),
        pytest.param({}, [b"Expect: the-unexpected"], id="expectation"),
    ],
)
async def test_what_is_odd_but_right_is_answered(data, headers, tools):
    async with abused(whole_text("Hello")) as target:
        answer = await target.exchange(post(body(tools=tools, **data), *headers))
        assert status(answer) == 200
        assert b"Hello" in answer
        assert len(target.backend.chats) == 1


@pytest.mark.parametrize("tools", [True, False])
async def test_a_number_that_json_has_not_never_becomes_a_500(target, tools):
    for word in (b"NaN", b"Infinity", b"-Infinity"):
        answer = await target.exchange(post(body(b',"temperature":' + word, tools=tools)))
        # Guarded it is read and refused here; unguarded it is the backend's to judge, which has no script left.
        assert status(answer) == 400 or b"the script is over" in answer
    target.backend.requests.clear()


async def test_a_scheme_only_is_no_credential_and_a_pair_stays_one():
    async with abused(whole_text("a"), whole_text("b")) as target:
        await target.exchange(post(None, b"Authorization: Bearer "))
        await target.exchange(post(None, b"Authorization: Bearer t", b"X-Api-Key: t"))
        first, second = (r.headers for r in target.backend.chats)
    assert "authorization" not in first
    assert (second["authorization"], second["x-api-key"]) == ("Bearer t", "t")


# -- slow, half-closed and silent clients -------------------------------------------------------------------------------


async def all_of(reader):
    """What comes until the end, also where a piece that was written at that moment made the end a reset."""
    pieces = []
    with suppress(ConnectionResetError):
        while piece := await reader.read(2**16):
            pieces.append(piece)
    return b"".join(pieces)


async def drip(target, pieces):
    """Send one piece every 50 ms until the proxy answers; its answer."""
    reader, writer = await target.connect()
    answer = asyncio.create_task(all_of(reader))
    for piece in pieces:
        if answer.done() or writer.transport.is_closing():
            break
        writer.write(piece)
        await asyncio.wait({answer}, timeout=0.05)
    try:
        return await asyncio.wait_for(answer, 30)
    finally:
        writer.close()


@pytest.mark.parametrize("pieces", [[bytes([c]) for c in TARGET], [TARGET, *[b"X: y\r\n"] * 100]])
async def test_a_head_by_drops_is_the_end(target, pieces):
    assert await drip(target, pieces) == b""


@pytest.mark.parametrize("head", [TARGET + HOST + b"Content-Length: 1000\r\n\r\n", chunked(close=False)])
async def test_a_body_by_drops_is_a_408(target, head):
    piece = b"1\r\n{\r\n" if b"chunked" in head else b"{"
    answer = await drip(target, [head, *[piece] * 100])
    assert status(answer) == 408
    assert error_of(answer)["type"] == "timeout_error"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_client_that_only_closed_its_sending_side_gets_its_answer(streamed):
    gate = Gate()
    script = stream_text(["Hel", gate, "lo"]) if streamed else Script([gate, *whole_text("Hello").steps])
    async with abused(script) as target:
        reader, writer = await target.connect()
        writer.write(post(body(b',"stream":true' if streamed else b""), close=False))
        writer.write_eof()
        await target.backend.chat()
        # Longer than any look after a client takes: it must be seen to read.
        await asyncio.sleep(0.5)
        assert not target.backend.chats[0].gone.is_set()
        gate.set()
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert b" 200 OK" in answer
        if streamed:
            assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        else:
            assert b"Hello" in answer


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("pipelined", [False, True])
async def test_a_client_that_left_is_noticed_before_anything_is_written_to_it(streamed, reset, pipelined):
    script = stream([chunk({"content": "Hi"}), Gate()]) if streamed else Script([Gate()])
    async with abused(script, whole_text("b")) as target:
        reader, writer = await target.connect()
        more = post() if pipelined else b""
        writer.write(post(body(b',"stream":true' if streamed else b""), close=False, more=more))
        asked = await target.backend.chat()
        if streamed:
            await reader.readuntil(b"Hi")
        if reset:
            option = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
            writer.transport.abort()
        else:
            writer.close()
        await asyncio.wait_for(asked.gone.wait(), 8)  # a comment in the stream would tell after ten
        await target.until_empty()
        assert len(target.backend.chats) == 1


async def test_half_a_request_and_the_end_is_the_end(target):
    for data in (b"", b"GET / HT", TARGET + HOST + b"Content-Length: 100\r\n\r\n{"):
        reader, writer = await target.connect()
        writer.write(data)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()


async def test_a_client_that_takes_nothing_is_given_up():
    piece = chunk({"content": "x" * 20_000})
    script = Script([], headers={"Content-Type": "text/event-stream"}, endless=piece)
    async with abused(script, write_seconds=0.5) as target:
        with socket.create_connection(("127.0.0.1", target.port)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(post(body(b',"stream":true')))
            asked = await asyncio.wait_for(target.backend.chat(), 30)
            await asyncio.wait_for(asked.gone.wait(), 30)
            await target.until_empty()


async def test_pipelined_requests_are_answered_in_order():
    async with abused(*(whole_text(f"answer {n}") for n in range(7))) as target:
        answer = await target.exchange(post(close=False) * 6 + post())
    found = [answer.index(b"answer %d" % n) for n in range(7)]
    assert found == sorted(found)
    assert answer.count(b"HTTP/1.1 200 OK") == 7


async def test_requests_that_offer_an_upgrade():
    offer = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AA")
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body()), body())
    in_chunks = b"\r\n".join((TARGET + HOST + b"Transfer-Encoding: chunked", *offer, b"", chunks))
    async with abused(whole_text("one"), whole_text("two"), whole_text("three")) as target:
        answer = await target.exchange(post(None, *offer, close=False) + in_chunks + post())
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.index(b"one") < answer.index(b"two") < answer.index(b"three")


async def test_a_flood_of_offered_upgrades_is_the_end(target):
    offer = b"GET /forge/health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    answer = await target.exchange(offer * 3000)
    assert answer == b"" or status(answer) in {200, 400}
    assert b"500" not in answer.split(b"\r\n")[0]
    await target.healthy()


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_cannot_be_parsed_behind_a_request_does_not_spoil_its_answer(streamed):
    gate = Gate()
    script = stream_text(["Hel", gate, "lo"]) if streamed else Script([gate, *whole_text("Hello").steps])
    async with abused(script) as target:
        reader, writer = await target.connect()
        writer.write(
            post(body(b',"stream":true' if streamed else b""), close=False, more=b"NONSENSE\r\n\r\n")
        )
        await target.backend.chat()
        if streamed:
            await reader.readuntil(b"Hel")
        gate.set()
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    assert b"HTTP/1.1 400" not in answer  # three digits alone are in every hundredth id
    assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") if streamed else b"Hello" in answer


async def test_expect_100_continue_is_answered_only_where_the_body_is_wanted():
    async with abused(whole_text("Hello"), body_bytes=1000) as target:
        for length, first in ((len(body()), 100), (5000, 413)):
            reader, writer = await target.connect()
            writer.write(
                TARGET + HOST + CLOSE + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % length
            )
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert status(answer) == first
            if first == 100:
                writer.write(body())
                assert b"Hello" in await asyncio.wait_for(reader.read(), 30)
            writer.close()


async def test_after_a_body_that_is_a_little_too_large_the_connection_still_serves():
    async with abused(whole_text("Hello"), body_bytes=1000) as target:
        answer = await target.exchange(post(b" " * 2000, close=False, more=post()))
    assert status(answer) == 413
    assert b"Hello" in answer


async def test_a_thousand_idle_connections_cost_nobody_an_answer():
    async with abused(whole_text("Hello")) as target:
        silent = [await target.connect() for _ in range(1000)]
        try:
            answer = await asyncio.wait_for(target.exchange(post()), 30)
            assert b"Hello" in answer
        finally:
            for _, writer in silent:
                writer.close()
        await target.until_empty()


async def test_idle_connections_are_closed_by_themselves():
    async with abused(header_seconds=0.1, keep_alive_seconds=1) as target:
        connections = [await target.connect() for _ in range(50)]
        for _, writer in connections[:25]:
            writer.write(b"GET /forge/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await target.until_empty()
        for _, writer in connections:
            writer.close()


async def test_abuse_leaves_nothing_behind():
    async with abused(header_seconds=0.2, body_seconds=0.2) as target:
        loop = asyncio.get_running_loop()

        async def all_of_it():
            for data in (*SMUGGLED.values(), *map(post, BODIES.values())):
                await target.exchange(data)
            await target.until_empty()
            gc.collect()
            return len(gc.get_objects()), len(asyncio.all_tasks(loop))

        await all_of_it()
        objects, tasks = await all_of_it()
        later = [await all_of_it() for _ in range(3)]
        # A leak grows with every round; a connection that is just ending may show in one of them.
        assert min(count for _, count in later) <= tasks
        assert min(count for count, _ in later) - objects < 300
        await target.healthy()
