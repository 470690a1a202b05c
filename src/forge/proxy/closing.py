"""The end that all requests in flight have in common: when the drain's time is over they are told, not cut off."""

from __future__ import annotations

import asyncio
from types import TracebackType

from forge.proxy.error_response import HttpError


class Closing:
    """The requests that are being answered."""

    def __init__(self) -> None:
        self._attended: set[_Attended] = set()
        self._over = False

    def attended(self) -> _Attended:
        """The context of one request: ``with closing.attended(): ...``; HttpError 503 comes out of it at the end."""
        return _Attended(self)

    def end(self) -> None:
        """End what is still in flight, and whatever comes now."""
        self._over = True
        for request in tuple(self._attended):
            request.interrupt()

    def enter(self, request: _Attended) -> None:
        """Count a request in."""
        self._attended.add(request)
        if self._over:
            request.interrupt()

    def leave(self, request: _Attended) -> None:
        """Count it out."""
        self._attended.discard(request)


class _Attended:
    __slots__ = ("_before", "_closing", "_interrupted", "_task")

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        self._interrupted = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "a request is answered by a task"
        self._task = task
        self._before = task.cancelling()
        self._closing.enter(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._closing.leave(self)
        # Cancelled for another reason at the same time (a client that went away), it stays cancelled.
        if (
            self._interrupted
            and self._task.uncancel() <= self._before
            and isinstance(error, asyncio.CancelledError)
        ):
            raise HttpError(
                503, "the proxy is shutting down; try again later", code="shutting_down", retry_after="1"
            )

    def interrupt(self) -> None:
        """Cancel what the request's task does within the context."""
        if not self._interrupted:
            self._interrupted = True
            self._task.cancel()
