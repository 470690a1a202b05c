"""Keeps a server running: starts it anew when it dies, while those who need it wait."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from forge.errors import BackendGivenUpError, BackendUnreachableError, ForgeError, ServerStartError

logger = logging.getLogger(__name__)

# A refused connection can be seen before the death that caused it is known.
_DEATH_SECONDS = 1.0


class Server(Protocol):
    """Running processes that serve together, such as :class:`forge.serving.process.ChildServer`."""

    @property
    def alive(self) -> bool:
        """Whether all of it still runs."""

    async def wait(self) -> int:
        """Wait until it serves no more; an exit status."""

    async def aclose(self) -> None:
        """End it. Idempotent."""

    def log_tail(self) -> str:
        """The last lines of its log."""


class Backoff(Struct, frozen=True, kw_only=True):
    """Pauses in seconds before attempts to start anew: none, ``first``, then doubled up to ``longest``.

    After ``attempts`` in a row it is given up. A server that lived for ``stable`` seconds starts the count anew.
    """

    first: float = 1.0
    longest: float = 30.0
    attempts: int = 6
    stable: float = 60.0

    def pause(self, failures: int) -> float:
        """The pause after so many failures in a row."""
        return 0.0 if failures == 0 else min(self.first * 2.0 ** (failures - 1), self.longest)


class Supervisor:
    """One server, started by ``start`` whenever it is needed. ``name`` and ``url`` are for messages."""

    def __init__(
        self, name: str, url: str, start: Callable[[], Awaitable[Server]], backoff: Backoff | None = None
    ) -> None:
        self._name = name
        self._url = url
        self._start = start
        self._backoff = backoff or Backoff()
        self._server: Server | None = None
        self._watch: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._died = asyncio.Event()
        self._failure: Exception | None = None
        self._given_up = False
        self._restarts = 0

    @property
    def generation(self) -> int:
        """How often the server was started anew."""
        return self._restarts

    @property
    def alive(self) -> bool:
        """Whether the server runs and is ready."""
        return self._settled.is_set() and self._server is not None and self._server.alive

    async def open(self) -> None:
        """Start the server for the first time. A failure now is raised, not tried again.

        Raises:
            ServerStartError: it did not come up.
        """
        self._server = await self._start()
        self._settled.set()
        self._watch = asyncio.create_task(self._supervise(self._server))

    async def ready(self) -> None:
        """Wait while the server is being started anew.

        Raises:
            BackendGivenUpError: it was given up.
            BackendUnreachableError: it was stopped.
        """
        await self._settled.wait()
        if self._failure is not None:
            kind = BackendGivenUpError if self._given_up else BackendUnreachableError
            raise kind(self._url, self._failure)

    async def recovered(self, since: int) -> bool:
        """After a call that found nobody: True, once the server runs that followed generation ``since``.

        False where the server is still that one, and lives.

        Raises:
            As :meth:`ready`.
        """
        if self._restarts == since:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._died.wait(), _DEATH_SECONDS)
        await self.ready()
        return self._restarts != since

    async def aclose(self) -> None:
        """End the server for good. Idempotent."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
            await asyncio.wait({watch})
        server, self._server = self._server, None
        self._failure = self._failure or ServerStartError(f"{self._name} was stopped")
        self._settled.set()
        self._died.set()
        if server is not None:
            await server.aclose()

    async def _supervise(self, server: Server) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            born = loop.time()
            status = await server.wait()
            self._settled.clear()
            self._died.set()
            logger.warning(
                "%s ended with status %s and is started anew: %s", self._name, status, _last(server)
            )
            await server.aclose()
            failures = 0 if loop.time() - born >= self._backoff.stable else failures
            anew, failures = await self._start_anew(failures)
            if anew is not None:
                server = self._server = anew
                self._restarts += 1
                self._died.clear()
            self._settled.set()
            if anew is None:
                return
            logger.warning("%s runs again", self._name)

    async def _start_anew(self, failures: int) -> tuple[Server | None, int]:
        """The new server (None if it is given up), and the attempts in a row so far."""
        last: Exception = ServerStartError(f"{self._name} ended again and again")
        while failures < self._backoff.attempts:
            await asyncio.sleep(self._backoff.pause(failures))
            failures += 1
            try:
                return await self._start(), failures
            except (ForgeError, OSError) as error:
                last = error
                logger.warning("%s did not start (attempt %d): %s", self._name, failures, error)
        logger.error("%s is given up after %d attempts: %s", self._name, failures, last)
        self._failure = last
        self._given_up = True
        return None, failures


def _last(server: Server) -> str:
    lines = server.log_tail().splitlines()
    return lines[-1] if lines else "its log is empty"
