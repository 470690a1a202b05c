"""Model servers as owned child processes: start, readiness, failure with its cause, stop.

A child is ready when *it* is ready, not when something answers on its port: another program may sit there. How
a given server shows readiness is a function (:data:`Readiness`); everything else is the same for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from forge.errors import ServerStartError
from forge.serving import logs

_GUARD = Path(__file__).with_name("guard.py")
_TAIL_LINES = 12
# Beyond the grace that the guard gives the server: time for the guard itself to end.
_GUARD_MARGIN = 3.0


class Launch(Struct, frozen=True, kw_only=True):
    """How to start one server.

    ``name`` is what error messages call it. ``argv``: its command line. ``log_path``: file for what it writes on
    standard error, with ``stdout_too`` also on standard output (else that is left to be read). ``environment``:
    additions to ours. ``ready_timeout``: seconds it may take to become ready
    (None: as long as it lives; a big model on a slow disk takes minutes). ``grace``: seconds between asking it
    to stop and killing it.
    """

    name: str
    argv: tuple[str, ...]
    log_path: Path
    stdout_too: bool = False
    environment: Mapping[str, str] = {}
    ready_timeout: float | None = None
    grace: float = 5.0


class ChildServer:
    """A running server that belongs to us. It ends when this process ends, however that happens."""

    def __init__(self, launch: Launch, process: asyncio.subprocess.Process) -> None:
        self.launch = launch
        self._process = process

    @property
    def pid(self) -> int:
        """Process id of the guard that runs the server."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.returncode is None

    @property
    def stdout(self) -> asyncio.StreamReader:
        """What the server writes on standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def log_tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of its log."""
        return logs.tail(self.launch.log_path, lines)

    async def wait(self) -> int:
        """Wait for its end; the exit status (128 + N if signal N ended it)."""
        return await self._process.wait()

    async def aclose(self) -> None:
        """Stop it: politely, after ``grace`` seconds by force. Idempotent; safe to call after its death."""
        stdin = self._process.stdin
        if stdin is not None:
            stdin.close()  # the guard's lifeline
        try:
            await asyncio.wait_for(self._process.wait(), self.launch.grace + _GUARD_MARGIN)
        except (TimeoutError, asyncio.CancelledError) as error:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            if isinstance(error, asyncio.CancelledError):
                raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


Readiness = Callable[[ChildServer], Awaitable[str]]
"""Waits until the given server is ready and returns its base URL; may raise ServerStartError itself."""


async def start(launch: Launch, readiness: Readiness) -> tuple[ChildServer, str]:
    """Start a server and wait until it is ready.

    Returns:
        The running server and its base URL.

    Raises:
        ServerStartError: it cannot be run, it ended before it was ready (seen at once, whatever the timeout), or
            it was not ready in time. Nothing is left running then, nor when this call is cancelled.
    """
    child = await _spawn(launch)
    try:
        return child, await _first_of(child, readiness)
    except BaseException:
        await child.aclose()
        raise


async def _spawn(launch: Launch) -> ChildServer:
    try:
        launch.log_path.parent.mkdir(parents=True, exist_ok=True)
        log = launch.log_path.open("ab")
    except OSError as error:
        raise ServerStartError(
            f"{launch.name} cannot write its log {launch.log_path}: {error.strerror or error}"
        ) from error
    with log:
        process = await asyncio.create_subprocess_exec(
            # -I -S: the guard needs nothing but the standard library, and must not pick up a stranger's modules.
            sys.executable,
            *("-I", "-S", str(_GUARD), str(launch.grace), "--"),
            *launch.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=log if launch.stdout_too else asyncio.subprocess.PIPE,
            stderr=log,
            env={**os.environ, **launch.environment},
            start_new_session=True,  # Ctrl-C in our terminal is ours to handle
        )
    return ChildServer(launch, process)


async def _first_of(child: ChildServer, readiness: Readiness) -> str:
    """Ready, ended or too late: whichever comes first."""
    ready = asyncio.ensure_future(readiness(child))
    ended = asyncio.ensure_future(child.wait())
    try:
        await asyncio.wait(
            {ready, ended}, timeout=child.launch.ready_timeout, return_when=asyncio.FIRST_COMPLETED
        )
        if ended.done():
            raise start_error(child, f"ended with status {ended.result()} before it was ready")
        if not ready.done():
            raise start_error(child, f"was not ready within {child.launch.ready_timeout:g} s")
        return await ready
    finally:
        for task in (ready, ended):
            task.cancel()
        await asyncio.gather(ready, ended, return_exceptions=True)


def start_error(child: ChildServer, what: str) -> ServerStartError:
    """The error that says ``what`` happened to a starting server, with the cause and the end of its log."""
    log = child.log_tail()
    cause = logs.cause(log)
    return ServerStartError(
        f"{child.launch.name} {what}" + (f": {cause}" if cause else ""),
        log=log,
        hint=f"Its log is {child.launch.log_path}",
    )
