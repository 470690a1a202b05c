"""Several processes behind one address: started, replaced when they die, and ended together.

The parent holds the listening sockets and, where there is one, the model server; it serves nothing itself. Each worker
is a whole proxy of its own (:mod:`forge.proxy.worker`), with its own queue, limits and stores.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from forge.clients.backend import Host
from forge.errors import BackendGivenUpError, BackendUnreachableError, ServerStartError
from forge.proxy.settings import Settings

_log = logging.getLogger("forge.proxy")
READY: Final = b"ready\n"
STOP: Final = b"stop\n"
LOST: Final = b"lost "
"""Before the reason, as JSON, for which the model server will not run again."""
_GRACE_SECONDS: Final = 10.0
"""Beyond the drain, until a worker that does not end is killed."""
_KILL_SECONDS: Final = 3.0
_YOUNG_SECONDS: Final = 5.0
_MOST_EARLY_DEATHS: Final = 5


class Brief(msgspec.Struct, frozen=True):
    """What a worker is told at its start: all that its parent found out.

    ``listener`` is the number of the inherited socket. ``budget`` and ``window`` are what a managed server was given.
    """

    settings: Settings
    listener: int
    backend_url: str
    budget: int | None = None
    window: int | None = None


class WorkerPool:
    """Workers on ``listeners``, one each; told apart in the log by their number. Ends like ``HTTPServer``."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        brief: Callable[[int], Brief],
        command: Sequence[str] = (sys.executable, "-m", "forge.proxy.worker"),
    ) -> None:
        self._listeners = listeners
        self._command = command
        self._brief = brief
        self._processes: dict[int, Process] = {}
        self._stopping = False
        self._lost = b""
        self._drain_seconds = brief(0).settings.limits.drain_seconds
        self.port: int = listeners[0].getsockname()[1]

    @property
    def pids(self) -> list[int]:
        """The processes that run now."""
        return [process.pid for process in self._processes.values()]

    async def serve(self, on_started: Callable[[], None]) -> None:
        """Keep the workers running until told to stop, then wait for their end.

        Raises:
            ServerStartError: a worker does not start, or died again and again.
        """
        ready = [asyncio.Event() for _ in self._listeners]
        keepers = [asyncio.create_task(self._keep(n, event)) for n, event in enumerate(ready)]
        starting = asyncio.create_task(_all(ready))
        try:
            await asyncio.wait({starting, *keepers}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                on_started()
            await asyncio.gather(*keepers)
        finally:
            starting.cancel()
            self.stop()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            await self._end()

    def stop(self) -> None:
        """Take no new connections; ``serve`` returns when the workers' requests have ended or the drain is over."""
        if self._stopping:
            return
        self._stopping = True
        for listener in self._listeners:
            listener.close()
        self._tell(STOP)

    def lose(self, cause: BaseException | None) -> None:
        """Tell the workers, those to come too, that the model server will not run again, because of ``cause``."""
        self._lost = LOST + msgspec.json.encode(str(cause)) + b"\n"
        self._tell(self._lost)

    def force(self) -> None:
        """End now."""
        self.stop()
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()  # a worker without a parent ends at once

    async def _keep(self, number: int, ready: asyncio.Event) -> None:
        if not self._stopping:  # a stop that came before this task began closed the socket
            await self._replaced(number, ready)

    async def _replaced(self, number: int, ready: asyncio.Event) -> None:
        """Run one worker after the other until told to stop."""
        early = 0
        while True:
            born = asyncio.get_running_loop().time()
            process = await self._spawn(number)
            assert process.stdout is not None
            if await process.stdout.readline() == READY:
                ready.set()
            status = await self._watched(process)
            self._processes.pop(number, None)
            if self._stopping:
                return
            if not ready.is_set():
                raise ServerStartError(f"a worker did not start: it ended with status {status}")
            lived = asyncio.get_running_loop().time() - born
            early = early + 1 if lived < _YOUNG_SECONDS else 0
            if early >= _MOST_EARLY_DEATHS:
                raise ServerStartError(f"worker {number} ended again and again, last with status {status}")
            _log.warning("worker %d ended with status %s and is replaced", number, status)

    async def _spawn(self, number: int) -> Process:
        listener = self._listeners[number]
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=(listener.fileno(),),
            # Signals of the terminal are the parent's business: two of them would end the workers at once.
            start_new_session=True,
        )
        self._processes[number] = process
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(self._brief(listener.fileno())) + b"\n" + self._lost)
        if self._stopping:
            process.stdin.write(STOP)
        return process

    async def _watched(self, process: Process) -> int:
        """Wait for the end of a worker; killed where it does not end although it was told to."""
        ended = asyncio.create_task(process.wait())
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=0.5)
                if self._stopping:
                    await asyncio.wait({ended}, timeout=self._drain_seconds + _GRACE_SECONDS)
                    break
        finally:
            ended.cancel()
        if process.returncode is None:
            process.kill()
        return await process.wait()

    async def _end(self) -> None:
        """End what is still there, after a failure or in a hurry."""
        self.force()
        left = [asyncio.create_task(process.wait()) for process in self._processes.values()]
        if left:
            await asyncio.wait(left, timeout=_KILL_SECONDS)
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*left)
        self._processes.clear()

    def _tell(self, word: bytes) -> None:
        for process in self._processes.values():
            if process.stdin is not None and not process.stdin.is_closing():
                process.stdin.write(word)


async def watch(host: Host, pool: WorkerPool) -> None:
    """Look after the model server for workers, who cannot see that it is given up; returns then."""
    try:
        while True:
            await host.recovered(
                host.generation
            )  # takes a second, and longer while the server is started anew
    except BackendGivenUpError as error:
        pool.lose(error.cause)
    except BackendUnreachableError:
        return  # it was stopped, and so are we


async def _all(events: Sequence[asyncio.Event]) -> None:
    for event in events:
        await event.wait()
