"""A model server that another process keeps running: a worker cannot see it die, only that it is there again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from forge.errors import BackendGivenUpError

_PATIENCE_SECONDS: Final = 180.0
_ASK_EVERY: Final = 0.5


class DistantHost:
    """Waits for the server's return by asking. ``unreachable`` says why nothing answers there, None if something does."""

    def __init__(
        self,
        unreachable: Callable[[], Awaitable[Exception | None]],
        patience: float = _PATIENCE_SECONDS,
        ask_every: float = _ASK_EVERY,
    ) -> None:
        self._unreachable = unreachable
        self._patience = patience
        self._ask_every = ask_every
        self._asking = asyncio.Lock()
        self._lost: Exception | None = None
        self.generation = 0

    def lose(self, cause: Exception) -> None:
        """The server will not run again, because of ``cause``: so says who kept it running."""
        self._lost = cause

    async def ready(self) -> None:
        """Return at once: the call itself shows whether the server is there.

        Raises:
            BackendGivenUpError: it will not run again.
        """
        if self._lost is not None:
            raise BackendGivenUpError("", self._lost)

    async def recovered(self, since: int) -> bool:
        """After a call that found nobody: True once something answers again; False when it does not for too long.

        Raises:
            BackendGivenUpError: it will not run again.
        """
        now = asyncio.get_running_loop().time
        end = (
            now() + self._patience
        )  # from now: who waits behind another one's asking has no more patience for that
        async with self._asking:
            if self.generation != since:
                return True
            while now() < end:
                await self.ready()
                if await self._unreachable() is None:
                    self.generation += 1
                    return True
                await asyncio.sleep(self._ask_every)
            return False
