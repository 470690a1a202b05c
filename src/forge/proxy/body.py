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


class ClientGoneError(Exception):
    """The client closed its connection; nobody is left to answer."""


async def read_body(receive: Receive, limits: Limits, declared: bytes | None) -> bytes:
    """The whole body, by ``Content-Length`` (``declared``) or chunked alike.

    Raises:
        HttpError: 413 beyond the limit (at once when the declared length says so), 408 when it takes too long.
        ClientGoneError: the connection closed first.
    """
    if declared is not None and declared.isdigit() and int(declared) > limits.body_bytes:
        raise _too_large(limits)
    try:
        with deadline(limits.body_seconds):
            return await _collect(receive, limits)
    except TimeoutError:
        raise HttpError(408, "the request's body did not arrive in time") from None


async def _collect(receive: Receive, limits: Limits) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limits.body_bytes:
            raise _too_large(limits)
        if not message.get("more_body", False):
            return b"".join([*pieces, piece]) if pieces else piece
        pieces.append(piece)


def _too_large(limits: Limits) -> HttpError:
    return HttpError(413, f"the request's body is larger than {limits.body_bytes / (1024 * 1024):g} MiB")
