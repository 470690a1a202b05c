"""The embedded model server, kept running: one that dies is started anew at the same address."""

from __future__ import annotations

from pathlib import Path

from yarl import URL

from forge.clients.backend import Host
from forge.embedded import launch
from forge.embedded.models import DEFAULT_MODEL
from forge.serving.supervisor import Backoff, Supervisor


class SupervisedServer:
    """An embedded server that outlives its own death. Made by :func:`start`.

    ``base_url``: where it answers, without a path; a new server takes the same port. ``context_length``: tokens that
    one request may hold.
    """

    def __init__(self, first: launch.EmbeddedServer, model: str, backoff: Backoff | None) -> None:
        self.base_url = first.base_url
        self.context_length = first.context_length
        self._model = model
        self._port = URL(first.base_url).port or 0
        self._first: launch.EmbeddedServer | None = first
        self._latest = first
        self._supervisor = Supervisor("the embedded model server", first.base_url, self._start, backoff)

    @property
    def host(self) -> Host:
        """What a client waits for while a new server starts, see :meth:`ModelClient.hosted_by`."""
        return self._supervisor

    @property
    def alive(self) -> bool:
        """Whether a server runs and is ready."""
        return self._supervisor.alive

    @property
    def log_path(self) -> Path:
        """File with what the server writes that was started last; kept after its end."""
        return self._latest.log_path

    async def open(self) -> None:
        """Watch over the server from now on."""
        await self._supervisor.open()

    async def aclose(self) -> None:
        """End the server for good and wait until it is gone. Idempotent."""
        await self._supervisor.aclose()

    async def _start(self) -> launch.EmbeddedServer:
        first, self._first = self._first, None
        self._latest = first or await launch.start(self._model, port=self._port)
        return self._latest


async def start(model: str = DEFAULT_MODEL, *, backoff: Backoff | None = None) -> SupervisedServer:
    """Start the embedded server and watch over it; arguments and errors as of :func:`forge.embedded.start`."""
    server = SupervisedServer(await launch.start(model), model, backoff)
    await server.open()
    return server
