"""One proxy from the first socket to the last: opened, served, drained, closed, in that order.

The command line and :class:`forge.proxy.ProxyServer` both run a :class:`Runtime`; they differ only in who tells
it to stop and where its words go.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forge.clients.backend import Backend, Host
from forge.clients.deadline import deadline
from forge.core.capabilities import Capabilities
from forge.errors import ForgeError, ServerStartError
from forge.proxy.addresses import with_port
from forge.proxy.app import create_app
from forge.proxy.backends import make_backend
from forge.proxy.courier import Courier
from forge.proxy.distant_host import DistantHost
from forge.proxy.managed import introduce, manager_for, start_managed
from forge.proxy.server import HTTPServer, bind_for
from forge.proxy.service import Service
from forge.proxy.settings import Settings
from forge.proxy.workers import Brief, WorkerPool, watch

if TYPE_CHECKING:
    from forge.embedded.supervised import SupervisedServer
    from forge.server import ServerManager

_log = logging.getLogger("forge.proxy")
_PROBE_INTERVAL = 0.5
_PROBE_SECONDS = 15.0


class Inherited(NamedTuple):
    """What a worker has from its parent: a listening socket, and the backend that was brought up."""

    listener: socket.socket
    backend_url: str
    budget: int | None
    window: int | None


class Runtime:
    """A proxy's life. Call ``open``, then ``serve``; ``aclose`` always, whatever happened before."""

    def __init__(self, settings: Settings, inherited: Inherited | None = None) -> None:
        settings.check()
        self.settings = settings
        self._inherited = inherited
        self.capabilities: Capabilities | None = None
        self.embedded: SupervisedServer | None = None
        self.managed: ServerManager | None = None
        self._distant: DistantHost | None = None
        self._lost: ServerStartError | None = None
        self._backend_root = ""
        self._budget: int | None = None
        self._listeners: list[socket.socket] = []
        self._server: HTTPServer | WorkerPool | None = None
        self._service: Service | None = None

    @property
    def url(self) -> str:
        """Where clients reach the proxy."""
        port = self._server.port if self._server is not None else self.settings.port
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"http://{host}:{port}"

    @property
    def server_log(self) -> Path | None:
        """The log of the model server that this proxy started; None where it started none."""
        owned = self.embedded or self.managed
        return owned.log_path if owned is not None else None

    @property
    def backend(self) -> Backend:
        """The client that speaks to the backend; there is one once ``open`` got that far."""
        assert self._service is not None, "open() comes first"
        return self._service.backend

    @property
    def courier(self) -> Courier:
        """The road past the client, for what is passed on; there once ``open`` got that far."""
        assert self._service is not None, "open() comes first"
        return self._service.courier

    @property
    def backend_url(self) -> str:
        """The backend's root, without credentials."""
        return self._service.courier.shown_url if self._service is not None else ""

    async def open(
        self, *, require_backend: bool, on_waiting: Callable[[str], None] = lambda _: None
    ) -> None:
        """Take the port, then bring up or (external) look for the backend.

        With ``require_backend`` a backend that does not answer is an error, unless ``settings.wait``: then
        ``on_waiting`` is called once with its URL and the call returns when it answers.

        Raises:
            BindError: the port cannot be had.
            BackendUnreachableError: nothing answers at the backend's URL.
            EmbeddedModelError: the embedded server or its model is not installed.
            ServerStartError: the server that Forge starts did not come up.
        """
        # The port comes first: it is the cheapest thing that can fail.
        self._listeners = self._listen()
        service = await self.connect()
        self._server = self._make_server(service)
        if require_backend:
            await self._find_backend(service.courier, on_waiting)
            if (oddity := await service.courier.oddity()) is not None:
                # Not refused: some servers have that page only for callers with a key, or not at all.
                _log.warning("%s", oddity)
        await self._probe()

    async def connect(self) -> Service:
        """Bring up the backend where that is Forge's to do, and make what speaks to it; no port is taken.

        Raises:
            EmbeddedModelError: the embedded server or its model is not installed.
            ServerStartError: the server that Forge starts did not come up.
        """
        url = await self._backend_address()
        courier = Courier(url, self.settings)
        backend = make_backend(self.settings, url)
        host = self._host(courier)
        introduce(backend, host, self._budget)
        courier.hosted_by(host)
        self._service = Service(self.settings, backend, courier)
        self._service.readiness.child = self._child()
        self._service.usage.managed_window = self._window
        self._backend_root = url
        return self._service

    async def serve(self, on_started: Callable[[], None]) -> None:
        """Take requests until stopped, then drain. ``on_started`` is called when requests are being taken.

        Raises:
            ServerStartError: a worker does not start, or died again and again.
        """
        assert self._server is not None, "open() comes first"
        owned = self.embedded or self.managed
        if owned is None or owned.host is None or not isinstance(self._server, WorkerPool):
            await self._server.serve(on_started)
            return
        watching = asyncio.create_task(watch(owned.host, self._server))
        try:
            await self._server.serve(on_started)
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    def stop(self) -> None:
        """Take no new requests; ``serve`` returns when those in flight have ended or the deadline has passed."""
        if self._server is not None:
            self._server.stop()

    def lose(self, reason: str) -> None:
        """The model server, which another process keeps running, will not run again."""
        self._lost = ServerStartError(reason)
        if self._distant is not None:
            self._distant.lose(self._lost)

    def force(self) -> None:
        """End now, cancelling what is in flight."""
        if self._server is not None:
            self._server.force()

    async def aclose(self) -> None:
        """Close connections, the port and the owned model server. Idempotent."""
        try:
            if self._service is not None:
                await self._service.aclose()
        finally:
            for listener in self._listeners:
                listener.close()
            if self.embedded is not None:
                await self.embedded.aclose()
            if self.managed is not None:
                await self.managed.stop()

    def _listen(self) -> list[socket.socket]:
        if self._inherited is not None:
            return [self._inherited.listener]
        return bind_for(self.settings.workers, self.settings.host, self.settings.port)

    def _make_server(self, service: Service) -> HTTPServer | WorkerPool:
        if self.settings.workers == 1 or self._inherited is not None:
            app, limits = create_app(service), self.settings.limits
            return HTTPServer(app, self._listeners[0], limits, service.closing.end)
        settings, url, budget, window = self.settings, self._backend_root, self._budget, self._window
        return WorkerPool(self._listeners, lambda fd: Brief(settings, fd, url, budget, window))

    def _host(self, courier: Courier) -> Host | None:
        """Who keeps the backend running, if that is Forge."""
        owned = self.embedded or self.managed
        if owned is not None:
            return owned.host
        if self._inherited is not None and self.settings.starts_backend:
            self._distant = DistantHost(courier.unreachable)
            if self._lost is not None:
                self._distant.lose(self._lost)
            return self._distant
        return None

    @property
    def _window(self) -> int | None:
        """Tokens that one request may have, where Forge started the server and knows."""
        if self._inherited is not None:
            return self._inherited.window
        return self.embedded.context_length if self.embedded is not None else self._budget

    async def _backend_address(self) -> str:
        if self._inherited is not None:
            self._budget = self._inherited.budget
            return self._inherited.backend_url
        if self.settings.embedded:
            return await self._start_embedded()
        if self.settings.managed:
            self.managed = manager_for(self.settings)
            self._budget = await start_managed(self.managed, self.settings)
            return self.managed.client_base_url
        return with_port(str(self.settings.backend_url), self.settings.backend_port)

    async def _start_embedded(self) -> str:
        from forge.embedded import supervised
        from forge.embedded.models import DEFAULT_MODEL

        self.embedded = await supervised.start(self.settings.model or DEFAULT_MODEL)
        return self.embedded.base_url

    async def _find_backend(self, courier: Courier, on_waiting: Callable[[str], None]) -> None:
        error = await courier.unreachable()
        if error is None:
            return
        if not self.settings.wait:
            raise error
        on_waiting(courier.shown_url)
        while await courier.unreachable() is not None:  # noqa: ASYNC110 - nothing tells us when a server comes up
            await asyncio.sleep(_PROBE_INTERVAL)

    def _child(self) -> Callable[[], bool] | None:
        """Whether the server that was started runs; Ollama's is its own."""
        embedded, managed = self.embedded, self.managed
        if embedded is not None:
            return lambda: embedded.alive
        if managed is not None and managed.host is not None:
            return lambda: managed.pid is not None
        return None

    async def _probe(self) -> None:
        assert self._service is not None
        # A backend that only answers callers with a key, or comes up later, is asked again with the first request.
        with contextlib.suppress(ForgeError, TimeoutError), deadline(_PROBE_SECONDS):
            self.capabilities = await self._service.backend.capabilities()
