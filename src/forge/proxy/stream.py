"""The sending side of one exchange: plain answers, event streams with heartbeats, and the watch on the client.

A stream's head is sent with its first event, not before: as long as nothing was sent, a failure of the backend
still becomes a real HTTP status. When nothing can be sent for a while (prefill, a call under construction,
a retry), a comment line goes out, which every SSE parser skips and which keeps every timeout quiet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Self

from forge.proxy.body import Receive, Send
from forge.proxy.error_response import Failure

JSON = (b"content-type", b"application/json")
EVENT_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx and its relatives otherwise collect the events.
    (b"x-accel-buffering", b"no"),
)
HEARTBEAT = b": waiting for the model\n\n"


def comment() -> bytes:
    """The heartbeat that every SSE parser skips."""
    return HEARTBEAT


async def send_json(
    send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = (JSON,)
) -> None:
    """Send one whole answer."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_failure(send: Send, failure: Failure, body: bytes) -> None:
    """Send an error answer, with the backend's ``Retry-After`` if it gave one."""
    headers: tuple[tuple[bytes, bytes], ...] = (JSON,)
    if failure.retry_after is not None:
        headers = (JSON, (b"retry-after", failure.retry_after.encode("latin-1", "replace")))
    await send_json(send, failure.status, body, headers)


class EventStream:
    """An event stream that starts lazily and never stays silent for longer than ``heartbeat_seconds``.

    ``started`` says that the head is out, be it by a heartbeat.
    Use as an async context manager; on leaving, the heartbeat stops. ``write`` takes whole events, or pieces of
    a forwarded stream: a heartbeat only goes out between events. ``heartbeat`` makes one, when it is sent.
    """

    def __init__(
        self, send: Send, heartbeat_seconds: float, heartbeat: Callable[[], bytes] = comment
    ) -> None:
        self._send = send
        self._interval = heartbeat_seconds
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None
        self._between_events = True
        self.started = False

    async def __aenter__(self) -> Self:
        self._timer = self._loop.call_later(self._interval, self._tick)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._beat is not None:
            self._beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beat

    async def write(self, data: bytes) -> None:
        """Send ``data`` now; nothing, where an output has no place in the protocol."""
        if not data:
            return
        self._last = self._loop.time()
        self._between_events = data.endswith((b"\n\n", b"\r\n\r\n"))
        if not self.started:
            await self._start()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def nudge(self) -> None:
        """Send a comment now where one may stand: someone wants to know whether the client still reads."""
        if self.started and self._between_events and (self._beat is None or self._beat.done()):
            self._beat = self._loop.create_task(self._pulse(comment))

    async def end(self, data: bytes = b"") -> None:
        """Send ``data`` and finish the response."""
        self._between_events = False  # nothing follows
        if not self.started:
            await self._start()
        await self._send({"type": "http.response.body", "body": data})

    async def replace(self, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Send one whole answer in place of a stream that has not started."""
        self._between_events = False  # no heartbeat into it
        await send_json(self._send, status, body, headers)

    async def refuse(self, failure: Failure, body: bytes) -> None:
        """Send an error answer in place of a stream that has not started."""
        self._between_events = False
        await send_failure(self._send, failure, body)

    async def fail(self, event: bytes) -> None:
        """End with an error event; a half-sent event is closed first so that the error stands alone."""
        await self.end(event if self._between_events else b"\n\n" + event)

    async def _start(self) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": list(EVENT_STREAM)})

    async def _pulse(self, heartbeat: Callable[[], bytes]) -> None:
        if self._between_events:  # as it was when this was decided, a moment ago
            await self.write(heartbeat())

    def _tick(self) -> None:
        quiet = self._loop.time() - self._last
        if quiet >= self._interval and self._between_events and (self._beat is None or self._beat.done()):
            self._beat = self._loop.create_task(self._pulse(self._heartbeat))
            quiet = 0.0
        self._timer = self._loop.call_later(max(self._interval - quiet, 0.05), self._tick)


_WATCH_AFTER = 0.05
"""Seconds: the watch is a task of its own, and an answer that is there at once needs none."""


class cancelled_with_client:  # noqa: N801 - used as a verb: ``with cancelled_with_client(receive):``
    """Cancel the body of the ``with`` when the client goes away; leave quietly then.

    Cancelling the task closes whatever backend connection it is reading from, which stops generation there.
    A cancellation from elsewhere (shutdown) passes through. ``nudge`` is called when the server wants something sent,
    to see whether the client still reads.
    """

    __slots__ = ("_nudge", "_receive", "_task", "_timer", "_watch")

    def __init__(self, receive: Receive, nudge: Callable[[], None] = lambda: None) -> None:
        self._receive = receive
        self._nudge = nudge
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(loop)
        self._timer = loop.call_later(_WATCH_AFTER, self._start, loop)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self._timer.cancel()
        watch, task = self._watch, self._task
        # The watch's own end (its traceback) knows us: let go of it, or the whole request waits for the garbage collector.
        self._watch = self._task = None
        if watch is None or task is None:
            return False
        gone = watch.done() and not watch.cancelled()
        watch.cancel()
        return gone and kind is asyncio.CancelledError and task.uncancel() == 0

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._watch = loop.create_task(self._until_disconnected())

    async def _until_disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            self._nudge()
        assert self._task is not None
        self._task.cancel()
