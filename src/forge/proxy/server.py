"""Serving an application on one socket: uvicorn, run by us.

uvicorn's own runner installs signal handlers, raises signals again and exits the process; ours does none of it,
so that the same server runs under the command line, inside a thread, and in tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from forge.proxy.http_protocol import BoundedProtocol, bounded
from forge.proxy.limits import Limits


class _WithoutCancellations(logging.Filter):
    """uvicorn logs a request that was cancelled, at a forced end, as an exception of the application."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


logging.getLogger("uvicorn.error").addFilter(_WithoutCancellations())


_LAST_WORDS_SECONDS = 2.0
"""For what requests still say when the drain's time is over; then they are cancelled."""
_LAST_ANSWER_SECONDS = 1.5
"""Of these, until those that have said nothing are answered for them."""
_FORCED_WORDS_SECONDS = 0.3
"""The same where the end was forced."""
_TICK_SECONDS = 0.1


class BindError(OSError):
    """The address cannot be listened on; the text is one sentence for the user."""


def bind(host: str, port: int) -> socket.socket:
    """A listening address, taken now, so that a taken port shows before anything is started.

    Raises:
        BindError: the port is taken, not allowed, or the host is not one of this machine.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise BindError(f"cannot listen on {host}: the name is not known here") from error
    listener = socket.socket(family, kind, proto)
    try:
        if os.name == "posix":
            # Without it a restart would have to wait for the last connections' TIME_WAIT.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # bind() alone lets two processes pass when both set SO_REUSEADDR; only one can listen.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise BindError(_why_not(host, port, error)) from error
    listener.setblocking(False)
    return listener


def bind_for(workers: int, host: str, port: int) -> list[socket.socket]:
    """One listening socket for each of ``workers``, all at one address; as :func:`bind` where it is one.

    On Linux they are sockets of their own, among which the kernel deals new connections out; one whose worker died
    keeps its connections for the next worker. Elsewhere they are one and the same.

    Raises:
        BindError: as :func:`bind`.
    """
    # Bound alone, and never closed: sockets that share a port would also share it with another proxy's, started at the
    # same moment. Others of this user can only join once it says so, and no proxy does before it had the port alone.
    first = bind(host, port)
    if workers == 1:
        return [first]
    if sys.platform != "linux":
        return [first] * workers
    address, family = first.getsockname(), first.family
    listeners = [first]
    try:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for _ in range(workers - 1):
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(address)
            listener.listen(2048)
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise BindError(_why_not(host, address[1], error)) from error
    return listeners


def _why_not(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} on {host} is already in use; choose another one with --port"
        case errno.EACCES:
            return f"port {port} on {host} needs more rights; choose one above 1023 with --port"
        case errno.EADDRNOTAVAIL:
            return f"cannot listen on {host}: it is not an address of this machine"
        case _:
            return f"cannot listen on {host}:{port}: {error.strerror or error}"


class HTTPServer:
    """One application on one bound socket. ``serve`` runs until ``stop`` (or ``force``) was called.

    ``on_deadline`` is called when requests are still in flight at the end of the drain, to tell them.
    """

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        limits: Limits,
        on_deadline: Callable[[], None] = lambda: None,
    ) -> None:
        self._listener = listener
        self._limits = limits
        config = uvicorn.Config(
            app,
            http=bounded(limits),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=cast(
                "int", limits.keep_alive_seconds
            ),  # it may be a fraction: a timer gets it
            timeout_graceful_shutdown=int(limits.drain_seconds + _LAST_WORDS_SECONDS),
        )
        self._server = _Server(config)
        self._server.drain_seconds = limits.drain_seconds
        self._server.on_deadline = on_deadline

    @property
    def port(self) -> int:
        """The port that is really listened on."""
        port: int = self._listener.getsockname()[1]
        return port

    async def serve(self, on_started: Callable[[], None]) -> None:
        """Take requests until told to stop; then let those in flight finish, up to the drain deadline.

        ``on_started`` is called once, when requests are being taken.
        """
        self._server.on_started = on_started
        await self._server._serve([self._listener])  # noqa: SLF001 - serve() without the signal handling

    def stop(self) -> None:
        """Take no new requests and end when those in flight have ended. May be called from a signal handler."""
        self._server.end()

    def force(self) -> None:
        """End now: what is in flight is told so, and cancelled."""
        self._server.on_deadline()
        self._server.force_exit = True
        self._server.end()


class _Server(uvicorn.Server):
    """uvicorn's server that tells when it has started, ends when it is told, and waits for those it cancelled."""

    on_started: Callable[[], None]
    on_deadline: Callable[[], None]
    drain_seconds: float
    _told: asyncio.Future[None] | None = None

    def end(self) -> None:
        """Leave the main loop now, not at its next tick."""
        self.should_exit = True
        if self._told is not None and not self._told.done():
            self._told.set_result(None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_started()

    async def main_loop(self) -> None:
        """Uvicorn's own, which sleeps through the word to end."""
        self._told = asyncio.get_running_loop().create_future()
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            await asyncio.wait({self._told}, timeout=_TICK_SECONDS)

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections every second, which is every tenth tick."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in self._bounded_connections():
                connection.look_at_writing(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        later = asyncio.get_running_loop().call_later
        telling = later(self.drain_seconds, self.on_deadline)
        answering = later(self.drain_seconds + _LAST_ANSWER_SECONDS, self._break_off)
        try:
            await (self._refuse_more(sockets) if self.force_exit else super().shutdown(sockets))
        finally:
            telling.cancel()
            answering.cancel()
        pending = {task for task in self.server_state.tasks if not task.done()}
        if not pending:
            return
        _, pending = await asyncio.wait(pending, timeout=_FORCED_WORDS_SECONDS)
        # uvicorn would send a plain text and status 500 for a request that is cancelled before it is answered.
        self._break_off()
        for task in pending:
            task.cancel()
        if pending:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait(pending, timeout=2)

    async def _refuse_more(self, sockets: list[socket.socket] | None) -> None:
        """What uvicorn begins its shutdown with; it would then wait, and nobody waits for a forced end."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)  # what is closed is gone at the loop's next turn

    def _break_off(self) -> None:
        for connection in self._bounded_connections():
            connection.break_off()

    def _bounded_connections(self) -> list[BoundedProtocol]:
        return [each for each in self.server_state.connections if isinstance(each, BoundedProtocol)]
