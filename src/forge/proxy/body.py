"""Reading a request's body within its bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from forge.clients.deadline import deadline
from forge.proxy.error_response import HttpError
from forge.proxy.limits import Limits

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


_ADVICE = "1"
"""Seconds. Bodies come and go with every request."""


class ClientGoneError(Exception):
    """The client closed its connection; nobody is left to answer."""


class Bodies:
    """The bodies that are held at once, from their first byte until their requests are answered, within ``limits``."""

    __slots__ = ("held", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0

    def check(self, more: int, own: int = 0) -> None:
        """Whether there is room for ``more`` bytes of a body of which ``own`` are here. One alone always has room.

        Raises:
            HttpError: 503 with a ``Retry-After``: there is none.
        """
        if self.held + more > self.limits.bodies_bytes and self.held > own:
            sentence = "the requests that are being answered hold too much memory; try again later"
            raise HttpError(503, sentence, code="bodies_full", retry_after=_ADVICE)

    def give_back(self, body: bytes) -> None:
        """``body`` is held no longer."""
        self.held -= len(body)


async def read_body(receive: Receive, bodies: Bodies, declared: bytes | None) -> bytes:
    """The whole body, by ``Content-Length`` (``declared``) or chunked alike. It counts until it is given back.

    Raises:
        HttpError: 413 beyond the limit (at once when the declared length says so), 408 when it takes too long, 503
            when too much is held.
        ClientGoneError: the connection closed first.
    """
    limits = bodies.limits
    if declared is not None and declared.isdigit():
        length = int(declared)
        if length > limits.body_bytes:
            raise _too_large(limits)
        bodies.check(length)
    pieces: list[bytes] = []
    try:
        with deadline(limits.body_seconds):
            return await _collect(receive, bodies, pieces)
    except BaseException as error:
        bodies.held -= sum(map(len, pieces))
        if isinstance(error, TimeoutError):
            raise HttpError(408, "the request's body did not arrive in time") from None
        raise


async def _collect(receive: Receive, bodies: Bodies, pieces: list[bytes]) -> bytes:
    limits = bodies.limits
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        piece: bytes = message.get("body", b"")
        if size + len(piece) > limits.body_bytes:
            raise _too_large(limits)
        bodies.check(len(piece), size)
        size += len(piece)
        bodies.held += len(piece)
        pieces.append(piece)
        if not message.get("more_body", False):
            return piece if len(pieces) == 1 else b"".join(pieces)


def _too_large(limits: Limits) -> HttpError:
    return HttpError(413, f"the request's body is larger than {limits.body_bytes / (1024 * 1024):g} MiB")
