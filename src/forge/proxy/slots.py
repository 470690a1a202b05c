"""How many requests the backend gets at once, and the wait of those that are beyond it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Hashable
from contextlib import suppress
from typing import Self

from forge.clients.deadline import deadline
from forge.proxy.error_response import HttpError
from forge.proxy.fair_queue import FairQueue

_ADVICE_AT_MOST = 60
_WEIGHT = 0.2
"""Of the latest request in the average of how long one takes."""


class Slots:
    """Places for ``limit`` requests at once (None: any number) and a bounded, fair queue before them.

    A place is given on to the request that waits longest in its caller's line; callers take turns.
    """

    def __init__(self, limit: int | None, *, queue: int, wait_seconds: float | None) -> None:
        self._limit = limit
        self._queue_limit = queue
        self._wait_seconds = wait_seconds
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._running = 0
        self._average = 1.0

    @property
    def bounded(self) -> bool:
        """Whether there is a limit, so that a request may have to wait."""
        return self._limit is not None

    @property
    def running(self) -> int:
        """Requests that have a place; not counted without a limit."""
        return self._running

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    def place(self, caller: Hashable) -> Place:
        """A place for a request of ``caller``: ``async with slots.place(caller): ...``."""
        return Place(self, caller)

    async def take(self, caller: Hashable) -> None:
        """Wait for a place. Cancelled meanwhile, the request leaves the queue.

        Raises:
            HttpError: 503 with a ``Retry-After``: the queue is full, or the wait took too long.
        """
        if self._limit is None:
            return
        if self._running < self._limit:
            self._running += 1
            return
        if len(self._waiting) >= self._queue_limit:
            raise self._refusal("too many requests wait for the model", "queue_full")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.put(caller, turn)
        try:
            with deadline(self._wait_seconds):
                await turn
        except BaseException as error:
            if not self._waiting.remove(caller, turn) and turn.done() and not turn.cancelled():
                self._give_on()  # the place came at the moment in which nobody wanted it any more
            if isinstance(error, TimeoutError):
                raise self._refusal("the request waited too long for the model", "queue_timeout") from None
            raise

    def give_back(self, seconds: float) -> None:
        """Free a place that was held for ``seconds``."""
        if self._limit is not None:
            self._average += _WEIGHT * (seconds - self._average)
            self._give_on()

    def _give_on(self) -> None:
        with suppress(IndexError):
            while (turn := self._waiting.take()).done():  # cancelled, and about to say so
                pass
            turn.set_result(None)
            return
        self._running -= 1

    def _refusal(self, message: str, code: str) -> HttpError:
        return HttpError(503, f"{message}; try again later", code=code, retry_after=str(self._advice()))

    def _advice(self) -> int:
        """Seconds until there should be room, as far as the last requests tell."""
        assert self._limit is not None
        rounds = (len(self._waiting) + 1) / self._limit
        return max(1, min(_ADVICE_AT_MOST, math.ceil(self._average * rounds)))


class Place:
    """The context in which a request holds its place."""

    __slots__ = ("_caller", "_slots", "_taken")

    def __init__(self, slots: Slots, caller: Hashable) -> None:
        self._slots = slots
        self._caller = caller

    async def __aenter__(self) -> Self:
        await self._slots.take(self._caller)
        self._taken = time.monotonic()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._slots.give_back(time.monotonic() - self._taken)
