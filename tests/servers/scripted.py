"""A scripted model server that speaks llama-server's wire format over a real loopback socket.

Each chat takes the next script, whichever protocol's chat it is; ``pages`` are the answers of other paths, for servers
that are no llama-server. What the clients sent is recorded byte for byte. Pacing is by events that the
test sets, never by time: a stream stops at each :class:`Gate` until it is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 4096},
    "total_slots": 1,
    "model_path": "scripted.gguf",
    "chat_template": "{{ messages }}{{ tools }}",
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
}
MODELS = {
    "object": "list",
    "data": [{"id": "scripted", "object": "model", "created": 1, "owned_by": "llamacpp"}],
}


class Gate(asyncio.Event):
    """A point in a script where the server waits until the test calls ``set``."""


@dataclass
class Script:
    """One answer. ``steps`` are pieces of body and gates, sent in order (chunked when there are several)."""

    steps: list[bytes | Gate]
    status: int = 200
    headers: dict[str, str] = field(
        default_factory=lambda: {"Content-Type": "application/json; charset=utf-8"}
    )
    cut: bool = False
    """Break the connection after the last step, without ending the body."""
    endless: bytes = b""
    """Sent again and again after the last step, until the client hangs up."""
    raw: bool = False
    """The steps are the whole answer, head and framing included; the connection closes after them."""
    reset: bool = False
    """Break the connection with a reset (RST) after the last step, as a server does that was killed."""


@dataclass
class Recorded:
    """One request as it arrived. ``gone`` is set when the client closed the connection before the answer's end."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


class ScriptedServer:
    """``async with ScriptedServer([whole_text("Hello")]) as backend: ... backend.url ... backend.chats``."""

    def __init__(
        self,
        scripts: list[Script] | None = None,
        *,
        props: dict[str, Any] | None = None,
        pages: dict[str, Script] | None = None,
        port: int = 0,
    ) -> None:
        self.port = port
        self.scripts = list(scripts or [])
        self.props = PROPS if props is None else props
        self.pages = pages
        self.requests: list[Recorded] = []
        self.arrived = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[Recorded]:
        """The chat requests, without probes."""
        return [r for r in self.requests if is_chat(r)]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def chat(self, count: int = 1) -> Recorded:
        """The ``count``-th chat request, waited for."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.chats) >= count)
        return self.chats[count - 1]

    # -- the server -----------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._serve_one(reader, writer):
                    pass
        except asyncio.CancelledError:
            return  # the server ends; a cancelled connection task would be reported as unhandled
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("transfer-encoding") == "chunked":
            body = await _read_chunked(reader)
        request = Recorded(method, target, headers, body)
        async with self.arrived:
            self.requests.append(request)
            self.arrived.notify_all()
        return await self._answer(request, self._script(request), reader, writer)

    def _script(self, request: Recorded) -> Script:
        path = request.target.partition("?")[0]
        if is_chat(request):
            return self.scripts.pop(0) if self.scripts else error(500, "the script is over", "server_error")
        if self.pages is not None:
            return self.pages.get(path) or error(404, "File Not Found", "not_found_error")
        known = {"/props": self.props, "/v1/models": MODELS, "/models": MODELS, "/health": {"status": "ok"}}
        if path in known:
            return Script([json.dumps(known[path]).encode()])
        return error(404, "File Not Found", "not_found_error")

    async def _answer(
        self, request: Recorded, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if script.raw:
            return await _answer_raw(script, request.gone, reader, writer)
        chunked = (
            script.cut
            or script.reset
            or bool(script.endless)
            or len(script.steps) != 1
            or isinstance(script.steps[0], Gate)
        )
        lines = [f"HTTP/1.1 {script.status} Scripted", *(f"{n}: {v}" for n, v in script.headers.items())]
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        else:
            lines.append(f"Content-Length: {len(script.steps[0])}")  # type: ignore[arg-type]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        watch = asyncio.create_task(_watch(reader, request.gone))
        try:
            for step in script.steps:
                if isinstance(step, Gate):
                    await writer.drain()
                    if not await _opened(step, request.gone):
                        return False
                else:
                    writer.write(b"%x\r\n%s\r\n" % (len(step), step) if chunked else step)
            while script.endless and not request.gone.is_set():
                writer.write(b"%x\r\n%s\r\n" % (len(script.endless), script.endless))
                await writer.drain()
                await asyncio.sleep(0)
            if script.cut or script.reset:
                await writer.drain()
                if script.reset:
                    _reset(writer)
                return False
            if chunked:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
        finally:
            watch.cancel()
            await asyncio.wait({watch})
        return not request.gone.is_set()


async def _answer_raw(
    script: Script, gone: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    watch = asyncio.create_task(_watch(reader, gone))
    try:
        for step in script.steps:
            if not isinstance(step, Gate):
                writer.write(step)
                await writer.drain()
            elif not await _opened(step, gone):
                return False
    finally:
        watch.cancel()
        await asyncio.wait({watch})
    if script.reset:
        _reset(writer)
    elif writer.can_write_eof():
        writer.close()
        await writer.wait_closed()
    return False


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def is_chat(request: Recorded) -> bool:
    """Whether this is a chat of any of the protocols."""
    path = request.target.partition("?")[0]
    return request.method == "POST" and path.endswith(("/chat/completions", "/api/chat", "/v1/messages"))


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    pieces = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(pieces)


async def _watch(reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
    """Set ``gone`` at the connection's end; clients here never pipeline, so nothing else can arrive."""
    with contextlib.suppress(ConnectionError):
        await reader.read(1)
    gone.set()


async def _opened(gate: Gate, gone: asyncio.Event) -> bool:
    waits = {asyncio.create_task(gate.wait()), asyncio.create_task(gone.wait())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return gate.is_set()


# -- answers in llama-server's form -------------------------------------------------------------------------

_USAGE = {
    "completion_tokens": 7,
    "prompt_tokens": 20,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 3},
}
_TIMINGS = {"cache_n": 3, "prompt_n": 17, "predicted_n": 7}
_ENVELOPE = {"created": 1796024119, "model": "scripted", "system_fingerprint": "b0-unknown"}


def whole(message: dict[str, Any], finish: str = "stop") -> Script:
    """A whole answer with ``message``."""
    body = {
        "choices": [{"finish_reason": finish, "index": 0, "message": {"role": "assistant", **message}}],
        **_ENVELOPE,
        "object": "chat.completion",
        "usage": _USAGE,
        "id": "chatcmpl-scripted",
        "timings": _TIMINGS,
    }
    return Script([json.dumps(body).encode()])


def whole_text(text: str, finish: str = "stop") -> Script:
    return whole({"content": text}, finish)


def tool_call(name: str, arguments: str, call_id: str = "y5UT8hB7OF5maZQTHo66Ac4um4AmuZwl") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, "id": call_id}


def whole_call(name: str, arguments: str, content: str | None = None) -> Script:
    return whole({"content": content, "tool_calls": [tool_call(name, arguments)]}, "tool_calls")


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One SSE event with a chunk."""
    body = {
        "choices": [{"finish_reason": finish, "index": 0, "delta": delta}],
        **_ENVELOPE,
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        **more,
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def stream(steps: list[bytes | Gate], *, cut: bool = False) -> Script:
    """A stream made of ready events and gates."""
    return Script(list(steps), headers={"Content-Type": "text/event-stream"}, cut=cut)


def ending(finish: str = "stop") -> list[bytes]:
    """How llama-server ends a stream: the finish reason, the usage, ``[DONE]``."""
    usage = {
        "choices": [],
        **_ENVELOPE,
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "usage": _USAGE,
        "timings": _TIMINGS,
    }
    return [chunk({}, finish), b"data: " + json.dumps(usage).encode() + b"\n\n", b"data: [DONE]\n\n"]


def stream_text(pieces: list[str | Gate], finish: str = "stop") -> Script:
    """A streamed text; gates may stand between its pieces."""
    steps: list[bytes | Gate] = [chunk({"role": "assistant", "content": None})]
    steps += [piece if isinstance(piece, Gate) else chunk({"content": piece}) for piece in pieces]
    return stream([*steps, *ending(finish)])


def stream_call(name: str, pieces: list[str | Gate], text: list[str] | None = None) -> Script:
    """A streamed call whose arguments come in ``pieces``, after ``text``."""
    steps: list[bytes | Gate] = [chunk({"role": "assistant", "content": None})]
    steps += [chunk({"content": piece}) for piece in text or []]
    start = {"index": 0, **tool_call(name, "")}
    steps.append(chunk({"tool_calls": [start]}))
    for piece in pieces:
        if isinstance(piece, Gate):
            steps.append(piece)
        else:
            steps.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    return stream([*steps, *ending("tool_calls")])


def error(status: int, message: str, kind: str, headers: dict[str, str] | None = None) -> Script:
    """An error in llama-server's form."""
    body = json.dumps({"error": {"code": status, "message": message, "type": kind}}).encode()
    return Script([body], status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})})
