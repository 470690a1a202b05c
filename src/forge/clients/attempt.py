"""One call of a model server that is ready to be made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeAlias

from forge.core.events import Delta

Take: TypeAlias = Callable[[list[Delta]], object]
"""Whoever wants an answer's deltas, in one list what arrived together."""


class Attempt(ABC):
    """Prepared by a client, made by :meth:`batches` or :meth:`deliver`, once."""

    @abstractmethod
    def batches(self) -> AsyncGenerator[list[Delta], None]:
        """Make the call and give the deltas in batches as they arrive; the last delta is ``Finish``.

        Raises:
            BackendError: an error status, an error event, or an answer that cannot be read.
            BackendUnreachableError: no connection, or it broke before the answer began.
            StreamError: the answer broke off, or ended without saying that it was finished.
        """

    async def deliver(self, take: Take) -> None:
        """As :meth:`batches`, for a caller that only waits for the end.

        Raises:
            As :meth:`batches`; what came before an error was taken then.
        """
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                take(batch)


class Batches(Attempt):
    """An attempt that is known by its ``batches`` alone; iterating over them makes it."""

    def __init__(self, batches: AsyncGenerator[list[Delta], None]) -> None:
        self._batches = batches

    def batches(self) -> AsyncGenerator[list[Delta], None]:
        """See :meth:`Attempt.batches`."""
        return self._batches
