"""Connections to one server: aiohttp's pool, its parser and its streams, without the session above them.

What a session does for each request besides (redirects, cookies, tracing, bodies that may be anything) costs twice what
the exchange itself does, and nothing of it is wanted here: docs/decisions/http-stack.md has the numbers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from msgspec import Struct
from yarl import URL

from forge.clients.heard import RawHeaders

# llama-server closes idle connections after 5 s; ours must be given up before that, not at the same moment.
_KEEPALIVE_S: Final = 4.0
_READ_BUFFER: Final = 2**16
_LONG_BODY: Final = 2**16
_TARGETS_AT_MOST: Final = 64
_DEFAULT_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
_UNKNOWN_BYTES: Final = "application/octet-stream"
# What would end a header, and begin another one.
_LINE_END: Final = re.compile(r"[\r\n\0]")


class _Target(Struct):
    """Where requests of one kind go: ``request`` says how to connect, ``line`` and its headers begin each head.

    The head last sent is kept, since the next one's headers are mostly the same.
    """

    request: aiohttp.ClientRequest
    line: str
    has_length: bool
    given: dict[str, str] | None = None
    encoded: bytes = b""

    def head(self, headers: Mapping[str, str], body: bytes | None) -> bytes:
        """The head of a request with ``body``. Headers that are given take the place of ours.

        Raises:
            ValueError: a header holds a line's end, and so more than itself.
        """
        if headers != self.given:
            self.encoded = self._encode(headers)
            self.given = dict(headers)
        if body is None and not self.has_length:
            return self.encoded + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n" % (self.encoded, len(body or b""))

    def _encode(self, headers: Mapping[str, str]) -> bytes:
        fields = self.request.headers.copy()
        fields.update(headers)
        fields.popall("Content-Length", None)
        lines = [f"{name}: {value}" for name, value in fields.items()]
        for line in lines:
            if _LINE_END.search(line) is not None:
                raise ValueError("a header may not hold a line's end")
        return "\r\n".join((self.line, *lines, "")).encode()


class Answer:
    """An answer whose head has come. Its connection goes back to the pool at the end of the body."""

    __slots__ = ("_connection", "content", "headers", "raw_headers", "status")

    def __init__(
        self, message: RawResponseMessage, content: aiohttp.StreamReader, connection: Connection
    ) -> None:
        self.status = message.code
        self.headers: Mapping[str, str] = message.headers
        self.raw_headers: RawHeaders = message.raw_headers
        self.content = content
        self._connection: Connection | None = connection
        content.on_eof(self._release)

    @property
    def content_type(self) -> str:
        """Without parameters, in lower case; that of unknown bytes where the answer does not say (RFC 9110, 8.3)."""
        return self.headers.get("Content-Type", _UNKNOWN_BYTES).partition(";")[0].strip().lower()

    def close(self) -> None:
        """Close the connection when the body was not read to its end. Whoever waits for more of it hears so."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self.content.exception() is None:
                self.content.set_exception(aiohttp.ClientConnectionError("closed"))
            _drop(connection)

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if _unsent(connection) is not None:
            # Answered before the whole request was taken, which the rest of it may never be.
            _drop(connection)
        else:
            connection.release()


class HttpPool:
    """Opens connections when they are needed, without a bound, and keeps them for a while. Made in an event loop."""

    def __init__(self, connect_timeout: float | None) -> None:
        self._connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._targets: dict[tuple[str, URL], _Target] = {}

    @property
    def closed(self) -> bool:
        """Whether it was closed, by us or with its event loop."""
        return self._connector.closed

    async def request(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """Send a request and wait for the head of its answer.

        Raises:
            aiohttp.ClientError: no connection, or it broke before the answer began.
            OSError: likewise.
            aiohttp.http.HttpProcessingError: what came is no HTTP.
            ValueError: a header cannot be sent.
        """
        target = self._targets.get((method, url)) or self._aim(method, url)
        head = target.head(headers, body)
        try:
            connection = await self._connector.connect(target.request, [], self._timeout)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError("no connection in time") from error
        try:
            return await _exchange(connection, head, body)
        except BaseException:
            _drop(connection)
            raise

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connector.close()

    def _aim(self, method: str, url: URL) -> _Target:
        if len(self._targets) >= _TARGETS_AT_MOST:
            self._targets.clear()  # queries can be anything
        request = aiohttp.ClientRequest(
            method, url, headers=_DEFAULT_HEADERS, loop=asyncio.get_running_loop()
        )
        has_length = "Content-Length" in request.headers  # also without a body, by its method
        target = _Target(request, f"{request.method} {request.url.raw_path_qs} HTTP/1.1", has_length)
        self._targets[method, url] = target
        return target


async def _exchange(connection: Connection, head: bytes, body: bytes | None) -> Answer:
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(read_until_eof=True, read_bufsize=_READ_BUFFER)
    if body is None or len(body) > _LONG_BODY:
        transport.write(head)
        if body is not None:
            transport.write(body)
    else:
        transport.write(head + body)
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:
            return Answer(message, content, connection)


def _drop(connection: Connection) -> None:
    unsent = _unsent(connection)
    if unsent is not None:
        unsent.abort()  # closing would wait until the server has taken the rest of the request
    connection.close()


def _unsent(connection: Connection) -> asyncio.Transport | None:
    """The transport where some of the request has not left yet."""
    transport = connection.transport
    return transport if transport is not None and transport.get_write_buffer_size() else None
