"""HTTP to a model server: the one place where the HTTP library and its exceptions are known.

No environment proxies, no cookies, no redirects (a redirect could carry a credential to another host). Every way
in which an exchange can break ends in one of our errors.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress

import aiohttp
from aiohttp.http import HttpProcessingError
from msgspec import Struct
from yarl import URL

from forge.clients.deadline import deadline
from forge.clients.heard import heard
from forge.clients.http_pool import Answer, HttpPool
from forge.clients.urls import masked
from forge.errors import BackendError, BackendUnreachableError, StreamError
from forge.wire.backend_errors import error_from_body

_DRAIN_S = 0.25
_GATEWAY_TIMEOUT = 504
_MAX_ERROR_BODY = 64 * 1024
_MAX_BODY = 64 * 1024 * 1024
_SHOULD_RETRY = {"true": True, "false": False}
# The connection died before a byte of the answer came: worth one more try on a fresh one.
_STALE = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds per phase; None waits for ever.

    ``total`` bounds a whole answer from its first byte on. There is no such limit unless it is asked for:
    generation may be long.
    """

    connect: float | None = 10.0
    first_byte: float | None = 300.0
    between_bytes: float | None = 300.0
    total: float | None = None


class Incoming:
    """An answer whose head has arrived. Of ``timeouts`` those count that bound what is still to come."""

    def __init__(self, answer: Answer, url: URL, timeouts: Timeouts) -> None:
        self._answer = answer
        self._content = answer.content
        self._url = url
        self._loop = asyncio.get_running_loop()
        total = timeouts.total
        self._timeout = timeouts.between_bytes
        # One timer for the whole body, from the first wait on, that looks how long the wait has been: a timer per
        # piece would cost more than reading the piece.
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._broken = "broke off"
        self._overdue = False
        self._deadline = self._loop.call_later(total, self._expire) if total is not None else None
        self.status = answer.status
        self.headers = answer.headers

    @property
    def content_type(self) -> str:
        """Without parameters, in lower case; that of unknown bytes where the answer does not say."""
        return self._answer.content_type

    async def read(self) -> bytes:
        """The whole body.

        Raises:
            StreamError: it broke off, took longer than a timeout, or is too long.
        """
        piece = await self.next_piece()
        if self._content.at_eof():
            return piece  # a short answer has come with its head
        pieces, size = [piece], len(piece)
        while piece := await self.next_piece():
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_BODY:
                raise StreamError(f"the answer of {_shown(self._url)} is longer than {_MAX_BODY} bytes")
        return b"".join(pieces)

    async def next_piece(self) -> bytes:
        """The bytes that have arrived, b"" at the end.

        Raises:
            StreamError: the body broke off, or took longer than a timeout.
        """
        try:
            return self._content.read_nowait() or await self._wait()
        except (aiohttp.ClientError, OSError):
            broken = StreamError(f"the answer of {_shown(self._url)} {self._broken}")
            if self._overdue:
                broken.status = _GATEWAY_TIMEOUT
            raise broken from None

    async def _wait(self) -> bytes:
        if self._content.at_eof():
            return b""
        self._waiting_since = self._loop.time()
        if self._timer is None and self._timeout is not None:
            self._timer = self._loop.call_later(self._timeout, self._check_wait, self._timeout)
        try:
            return await self._content.readany()
        finally:
            self._waiting_since = None

    def _check_wait(self, timeout: float) -> None:
        since = self._waiting_since
        left = timeout if since is None else since + timeout - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_wait, timeout)
        else:
            self._broken = "stalled: nothing came for longer than the timeout"
            self._overdue = True
            self._answer.close()

    def _expire(self) -> None:
        self._broken = "took longer than the timeout for a whole answer"
        self._overdue = True
        self._answer.close()

    def close(self) -> None:
        """Close the connection when the body was not read to its end; else it is in the pool again already."""
        for timer in (self._timer, self._deadline):
            if timer is not None:
                timer.cancel()
        self._answer.close()

    async def drain(self) -> None:
        """Wait a moment for the end of a body that has said everything, so that its connection can be used again."""
        try:
            async with asyncio.timeout(_DRAIN_S):
                while await self.next_piece():
                    pass
        except (TimeoutError, StreamError):
            return

    async def error(self) -> BackendError:
        """The error that this answer is; only a bounded part of its body is read."""
        body = b""
        try:
            while len(body) < _MAX_ERROR_BODY and (piece := await self.next_piece()):
                body += piece
        except StreamError:
            pass  # the status alone says enough
        error = error_from_body(self.status, body, retry_after=_retry_after(self.headers))
        error.should_retry = _SHOULD_RETRY.get(self.headers.get("x-should-retry", "").lower())
        return error


class Transport:
    """One pool of connections to one server. Made without I/O; the pool opens with the first call.

    Closing an exchange before its end closes its connection, which is how a server learns to stop generating.
    """

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._pool: HttpPool | None = None
        self._keeper: AsyncGenerator[HttpPool, None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(
        self, method: str, url: URL, *, headers: Mapping[str, str], body: bytes | None = None
    ) -> AbstractAsyncContextManager[Incoming]:
        """Send a request and wait for the head of its answer. Statuses are the caller's business, but redirects.

        Raises:
            BackendUnreachableError: no connection, no answer in time, or it broke before the answer began.
            BackendError: the server redirects.
        """
        return _Exchange(self, method, url, headers, body)

    async def answer(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> Incoming:
        """As :meth:`open`; closing the answer is left to the caller.

        Raises:
            As :meth:`open`.
        """
        pool = self._pool
        if pool is None or self._loop is not asyncio.get_running_loop():
            pool = await self._open_pool()
        try:
            with deadline(self._timeouts.first_byte):
                answer = await self._request(pool, method, url, headers, body)
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise BackendUnreachableError(_shown(url), _why_unreachable(error)) from None
        heard.set(answer.raw_headers)
        incoming = Incoming(answer, url, self._timeouts)
        if 300 <= answer.status < 400:
            incoming.close()
            raise _redirect(answer, _shown(url))
        return incoming

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        keeper, self._keeper, self._pool = self._keeper, None, None
        if keeper is not None:
            await keeper.aclose()

    async def _request(
        self, pool: HttpPool, method: str, url: URL, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        try:
            return await pool.request(method, url, headers, body)
        except aiohttp.ClientConnectorError:
            raise
        except _STALE:
            if pool.closed:  # by us, under this request: no server dropped it
                raise
            return await pool.request(method, url, headers, body)

    async def _open_pool(self) -> HttpPool:
        loop = asyncio.get_running_loop()
        if self._pool is not None and self._loop is not loop:
            # A client may outlive an event loop (asyncio.run called twice); its connections cannot.
            stale, self._pool = self._pool, None
            await stale.aclose()
        if self._pool is None:
            self._loop = loop
            self._keeper = _kept_pool(self._timeouts.connect)
            self._pool = await anext(self._keeper)
        return self._pool


class _Exchange:
    """The context of one exchange. A class, since a generator for each exchange costs several times as much."""

    __slots__ = ("_incoming", "_request", "_transport")

    def __init__(
        self, transport: Transport, method: str, url: URL, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        self._transport = transport
        self._request = (method, url, headers, body)

    async def __aenter__(self) -> Incoming:
        self._incoming = await self._transport.answer(*self._request)
        return self._incoming

    async def __aexit__(self, *exc_info: object) -> None:
        self._incoming.close()


async def _kept_pool(connect_timeout: float | None) -> AsyncGenerator[HttpPool, None]:
    """A pool that closes itself when nobody does: asyncio ends generators when they are dropped and before a
    loop ends. A script that runs one workflow and closes nothing then leaves no socket and no complaint.
    """
    async with aclosing(HttpPool(connect_timeout)) as pool:
        yield pool


def _retry_after(headers: Mapping[str, str]) -> str | None:
    """``Retry-After`` as it came; some services say it in milliseconds too, or only so."""
    given = headers.get("Retry-After")
    if given is None:
        with suppress(ValueError):
            return f"{float(headers.get('retry-after-ms', '')) / 1000:g}"
    return given


def _redirect(answer: Answer, shown: str) -> BackendError:
    target = masked(answer.headers.get("Location", "")) or "an unnamed place"
    return BackendError(
        answer.status, f"{shown} redirects to {target}; redirects are not followed, so use the right URL"
    )


def _connect_failure(error: OSError) -> str:
    """In a person's words, without the address, which the message names already."""
    if isinstance(error, ssl.SSLError):  # its errno counts otherwise than the system's
        return "it does not speak TLS; is it http:// instead of https://?"
    if isinstance(error, socket.gaierror):
        return error.strerror or "unknown host"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    # Several addresses were tried (localhost has two), and asyncio joined the texts.
    return "Connection refused" if "Connect call failed" in str(error) else "connection failed"


def _why_unreachable(error: Exception) -> OSError:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TimeoutError("no connection in time")
        case TimeoutError():
            return TimeoutError("connected, but no answer in time")
        case aiohttp.ClientConnectorCertificateError():
            return OSError("its certificate is not trusted here")
        case aiohttp.ClientConnectorDNSError():
            return socket.gaierror(_connect_failure(error.os_error))
        case aiohttp.ClientConnectorError():
            return OSError(_connect_failure(error.os_error))
        case aiohttp.ServerDisconnectedError():
            return ConnectionError("the server closed the connection without an answer")
        case HttpProcessingError():
            reason = " ".join(error.message.split())
            return ConnectionError(f"not an HTTP answer: {reason}")
    # Their texts can hold the URL, so only the kind is told.
    return ConnectionError(type(error).__name__)


def _shown(url: URL) -> str:
    return masked(str(url))
