"""uvicorn's HTTP/1.1 protocol with the bounds that it lacks.

uvicorn on httptools accepts headers of any size, waits forever for a request that does not come or an answer that is
not taken, gives up clients that only closed their sending side, and answers protocol errors in plain text. Here: limits on
a request's line (414), its headers (431), the time that its head may take (close), open connections (503) and the time
in which a client takes nothing (close), and errors in the shape that SDKs parse.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from forge.proxy.after_upgrade import AfterUpgrade
from forge.proxy.error_response import error_type
from forge.proxy.half_closed import HalfClosedWatch
from forge.proxy.joined_head import CONTINUE, JoinedHead
from forge.proxy.limits import Limits

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

_log = logging.getLogger("forge.proxy")
_FRAMING = (b"content-length", b"transfer-encoding")
_VERSIONS = ("1.1", "1.0")
_PIPELINED_AT_MOST = 4
"""Requests that are read ahead of the one being answered; while they are, the client's end is seen."""
_UPGRADES_AT_MOST = 16
"""Requests that offer an upgrade, in one piece of what is received."""


class _RefusedHeadError(Exception):
    """Raised inside a parser callback; httptools hands it on as a parser error."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. ``limits`` is set on the subclass that :func:`bounded` makes, since uvicorn constructs us."""

    limits: ClassVar[Limits] = Limits()

    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _head_at_most = 0
    _received = 0
    _in_head = True
    _begun = False
    _refusal: tuple[int, str] | None = None
    _answer: JoinedHead | None = None
    _answering: RequestResponseCycle | None = None
    _half_closed: HalfClosedWatch | None = None
    _deaf = False
    _taken = 0
    _stalled_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows too
        """Take the connection, or refuse it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refusal = (503, "too many connections")
            self.send_400_response("")
            return
        self._arm_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers with the connection, and tell whoever answers on it."""
        self._disarm_head_timer()
        self._unset_keepalive_if_required()  # uvicorn leaves it after a reset, and all that hangs on it
        if self._half_closed is not None:
            self._half_closed.stop()
            self._half_closed = None  # it knows us, and would keep all of this for the garbage collector
        answering = self._answering
        super().connection_lost(exc)
        if answering is not None and answering is not self.cycle and not answering.response_complete:
            # uvicorn tells the request that came last; one before it may still be answered.
            answering.disconnected = True
            answering.message_event.set()
        self.pipeline.clear()

    def eof_received(self) -> bool | None:  # type: ignore[override]  # uvicorn's always closes
        """The client sends no more. What is whole is answered, as long as the client is seen to read."""
        answering = self._answering
        if (
            answering is None
            or answering.response_complete
            or self.cycle.more_body
            or answering.scope["http_version"] == "1.0"  # knows no interim answers to be tried with
        ):
            return None
        self._half_closed = HalfClosedWatch(self.transport, self._probe)
        return True

    def look_at_writing(self, now: float) -> None:
        """Give the client up when it has taken nothing of what waits for it in a while. Called every second or so."""
        waiting = self.transport.get_write_buffer_size()
        taken = (self._answer.written if self._answer is not None else 0) - waiting
        if not waiting:
            self._stalled_since = None
        elif self._stalled_since is None or taken != self._taken:
            self._stalled_since, self._taken = now, taken
        elif now - self._stalled_since >= self.limits.write_seconds:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Feed the parser, counting what belongs to a head that is not whole yet."""
        if self.transport.is_closing() or self._deaf:
            return
        self._received = len(data)
        if self._in_head:
            self._head_bytes += len(data)
            self._head_at_most += len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if not self._in_head or self.transport.is_closing():
            return
        if self._head_bytes > self.limits.header_bytes:
            # A line without an end reaches no callback; it is seen here.
            self._refusal = self._too_large(self._head_bytes)
            self.send_400_response("")
        elif self._begun and self._head_timer is None:
            # Most heads come whole, and need no timer.
            self._arm_head_timer()

    def _parse(self, data: bytes) -> None:
        for _ in range(_UPGRADES_AT_MOST):
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                # Not taken (to h2c, say), as the RFC allows; the parser believes that the rest is of another protocol.
                framing = [n + b": " + v for n, v in self.headers if n in _FRAMING]
                self.parser = httptools.HttpRequestParser(AfterUpgrade(self))
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
                data = b"\r\n".join((b"POST / HTTP/1.1", *framing, b"", data[upgrade.args[0] :]))
            except httptools.HttpParserError:
                break
            else:
                return
        self.send_400_response("")

    def on_message_begin(self) -> None:
        """A request starts (its first bytes are in the parser)."""
        super().on_message_begin()
        self._in_head = self._begun = True
        self._head_at_most = self._received

    def on_headers_complete(self) -> None:
        """The head is whole: the request may take its time from here."""
        # What is within the bound together with all that came beside it needs no counting.
        if self._head_at_most > self.limits.header_bytes:
            self._count_head()
        if len(self.headers) > self.limits.header_count:
            self._refuse(431, "the request has too many headers")
        if not self.url.startswith(b"/"):
            self._take_authority()
        if self.parser.get_http_version() not in _VERSIONS:
            self._refuse(505, "this is a server for HTTP/1.1")
        self._in_head = self._begun = False
        self._head_bytes = 0
        self._disarm_head_timer()
        super().on_headers_complete()
        if 0 < len(self.pipeline) < _PIPELINED_AT_MOST:
            self.flow.resume_reading()

    def on_message_complete(self) -> None:
        """The next bytes on this connection are the head of another request."""
        if self.parser.should_upgrade():
            return  # its body is still to come: see _parse
        super().on_message_complete()
        self._in_head = True
        self._disarm_head_timer()

    def on_response_complete(self) -> None:
        """The answer is out; a body that is still coming (after a 413, say) is dropped, for a bounded time."""
        if self._answer is not None:
            self._answer.flush()
        super().on_response_complete()
        if self._half_closed is not None and (self._answering is None or self._answering.response_complete):
            self.transport.close()
        if not self._in_head and self._head_timer is None and not self.transport.is_closing():
            self._arm_head_timer()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answer = JoinedHead(self.transport)
        self._answering = cycle
        cycle.transport = cast("asyncio.Transport", self._answer)
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own text is not used
        """Answer a request that cannot be parsed (or is refused unread), then close.

        Where the answer to one before it is under way, that ends as it would, and the connection with it.
        """
        answering = self._answering
        if answering is not None and not answering.response_complete:
            own = answering is self.cycle and answering.more_body  # its own body is what cannot be parsed
            if answering.response_started or not own:
                answering.keep_alive = False
                self._deaf = True
                return
        status, message = self._refusal or (400, "the request is not valid HTTP/1.1")
        _log.debug("answered %d to what is no request: %s", status, message)
        self.transport.write(_short_answer(status, message))
        self.transport.close()

    def break_off(self) -> None:
        """Tell a client whose request nobody began to answer that it will not be; there is no time left."""
        answering = self._answering
        if answering is None or answering.response_started or self.transport.is_closing():
            return
        self.transport.write(_short_answer(503, "the proxy is shutting down; try again later"))
        self.transport.close()

    def _count_head(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.header_bytes:
            self._refuse(*self._too_large(size))

    def _too_large(self, size: int) -> tuple[int, str]:
        """What to say of a head of ``size`` bytes, by its larger part."""
        if self._begun and len(self.url) * 2 > size:
            return (414, "the request's target is too long")
        return (431, "the request's headers are too large")

    def _take_authority(self) -> None:
        """A target in absolute form says which host is meant, whatever the Host header says (RFC 9112, 3.2.2)."""
        scheme, _, rest = self.url.partition(b"://")
        if scheme.lower() in (b"http", b"https"):
            authority = re.split(rb"[/?#]", rest, maxsplit=1)[0].rpartition(b"@")[2]
            kept = [(name, value) for name, value in self.headers if name != b"host"]
            self.headers[:] = [*kept, (b"host", authority)]

    def _refuse(self, status: int, message: str) -> NoReturn:
        self._refusal = (status, message)
        raise _RefusedHeadError

    def _probe(self) -> None:
        """Send what shows whether the client still reads: an interim answer, or what the one who answers has."""
        cycle = self._answering
        if cycle is None or cycle.response_complete:
            return
        if cycle.response_started:
            cycle.message_event.set()  # whoever watches the client takes it for a nudge
        else:
            self.transport.write(CONTINUE)

    def _arm_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.header_seconds, self._head_overdue)

    def _disarm_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_overdue(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()


def _short_answer(status: int, message: str) -> bytes:
    error = {"message": message, "type": error_type(status), "param": None, "code": None}
    # Which protocol is spoken is not known here: both kinds of clients find what they look for.
    body = json.dumps({"type": "error", "error": error}).encode()
    retry = b"retry-after: 1\r\n" if status == 503 else b""
    fields = b"content-type: application/json\r\nconnection: close\r\n" + retry
    return STATUS_LINE[status] + fields + b"content-length: %d\r\n\r\n" % len(body) + body


def bounded(limits: Limits) -> type[BoundedProtocol]:
    """The protocol class for uvicorn's ``http`` setting, with ``limits`` in it."""
    members: dict[str, Any] = {"limits": limits}
    return type("BoundedProtocol", (BoundedProtocol,), members)
