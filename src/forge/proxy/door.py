"""A door is one protocol that callers speak; the engine behind it does not know which.

Another protocol is another subclass and a row in the routes: the handler, the stream, the limits and the errors
stay as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, TypeAlias

from forge.core.drive import new_call_id
from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, Started, TextDelta
from forge.core.request import Protocol as Wire
from forge.core.request import Request
from forge.errors import RequestError
from forge.proxy.error_response import Failure
from forge.proxy.stream import HEARTBEAT

Visible: TypeAlias = TextDelta | ReasoningDelta | BlockDelta | CallReady
"""What an encoder gets. A ``BlockDelta`` of another protocol than its own gives nothing."""


class Progress(Protocol):
    """What an encoder may ask of the running turn."""

    @property
    def started(self) -> Started | None:
        """The backend's envelope, once the first attempt has begun to answer."""


class Reply(ABC):
    """Encodes one turn's outputs for one caller, streamed (``push``, ``finish``) or whole (``whole``)."""

    @abstractmethod
    def push(self, output: Visible) -> bytes:
        """The event(s) for one output; empty when there is nothing to send."""

    @abstractmethod
    def finish(self, finished: Finished) -> bytes:
        """The last event(s) of a stream."""

    @abstractmethod
    def whole(self, outputs: list[Visible], finished: Finished) -> bytes:
        """The whole answer of a request that did not ask for a stream."""

    def beat(self) -> bytes | None:
        """What is sent after a silence; None where that is the door's plain heartbeat."""
        return None

    def fail(self, failure: Failure) -> bytes | None:  # noqa: ARG002 - for protocols that have a place for it
        """What ends a stream in which the turn failed; None where that is the door's plain error event."""
        return None


class Door(ABC):
    """One inbound protocol. ``path`` is where the same request goes on a backend of the same ``protocol``.

    ``key_slot`` is the header in which its callers show their key. ``forwards``: backends take its requests at
    ``path`` as they are, so that one in which nothing is guarded may pass byte for byte. ``heartbeat`` is an event
    that its clients skip. ``id_headers``: where they look for a request's id.
    """

    path: str
    protocol: Wire = Wire.OPENAI
    forwards: bool = True
    key_slot: str = "authorization"
    heartbeat: bytes = HEARTBEAT
    id_headers: tuple[bytes, ...] = (b"x-request-id",)

    @abstractmethod
    def decode(self, body: bytes) -> Request:
        """Read a request.

        Raises:
            RequestError: the body cannot be served as written; names the field at fault.
        """

    @abstractmethod
    def reply(self, request: Request, progress: Progress) -> Reply:
        """An encoder for the answer to ``request``, as far as it has come in ``progress``."""

    def new_call_id(self) -> str:
        """An id for a call that came without one, unique across conversations."""
        return new_call_id()

    @abstractmethod
    def error_body(self, failure: Failure) -> bytes:
        """The body of an error answer."""

    @abstractmethod
    def error_event(self, failure: Failure) -> bytes:
        """The event by which a stream that has begun tells of a failure."""


def readable(body: bytes) -> bytes:
    """``body``, if it is text: fields that are only passed on are not decoded, so what they hold is looked at here.

    Raises:
        RequestError: it is not UTF-8.
    """
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise RequestError("the request body is not valid UTF-8") from None
    return body
