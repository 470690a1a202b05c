"""One model server of ours from start to stop: launched as described, supervised, asked, given a budget."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

import msgspec

from forge.errors import BackendUnreachableError, BudgetResolutionError, ServerStartError
from forge.serving import ports, rpc
from forge.serving.budget import BudgetMode, Cost, explained, halved_context, require_manual_tokens
from forge.serving.devices import devices, room
from forge.serving.launch_spec import LaunchSpec
from forge.serving.probe import Address, Probe, Status
from forge.serving.spawn import NAMES, described, spawn
from forge.serving.supervisor import Backoff, Server, Supervisor

logger = logging.getLogger(__name__)

_PORT_TRIES: Final = 3


class ManagedServer:
    """A child on loopback. ``port`` 0 takes a free one, and keeps it; ``backoff`` is for restarts after its death."""

    def __init__(self, port: int, backoff: Backoff | None = None) -> None:
        self.address = Address(host="127.0.0.1", port=port)
        self.supervisor: Supervisor | None = None
        self.log_path: Path | None = None
        self.rpc_logs: rpc.RpcLogs | None = None
        self._wanted_port = port
        self._backoff = backoff
        self._spec: LaunchSpec | None = None
        self._probe: Probe | None = None
        self._pid: int | None = None
        self._earlier = 0
        self._changing = asyncio.Lock()

    # -- for those who use it: forge.clients.backend.Host -------------------------------------------------------

    @property
    def generation(self) -> int:
        """How often a server was started."""
        return self._earlier + (self.supervisor.generation if self.supervisor is not None else 0)

    async def ready(self) -> None:
        """Wait while the server is being started.

        Raises:
            BackendUnreachableError: it does not run, and will not by itself.
        """
        async with self._changing:
            supervisor = self.supervisor
        if supervisor is None:
            raise BackendUnreachableError(str(self.address.root), ServerStartError("it is not started"))
        await supervisor.ready()

    async def recovered(self, since: int) -> bool:
        """After a call that found nobody: whether another server runs now than that of generation ``since``.

        Raises:
            BackendUnreachableError: it does not run, and will not by itself.
        """
        if self.generation == since and self.supervisor is not None:
            await self.supervisor.recovered(self.supervisor.generation)
        await self.ready()
        return self.generation != since

    # -- for its owner ------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Process id of the guard of the server that was started last; None where none runs."""
        return self._pid if self.supervisor is not None and self.supervisor.alive else None

    async def launch(self, spec: LaunchSpec) -> None:
        """Bring the server up; nothing happens where it already runs as described and is well.

        Raises:
            ServerStartError: it did not come up; nothing is left running.
            FileNotFoundError: there is no llamafile beside the model.
        """
        async with self._changing:
            if spec == self._spec and await self.healthy():
                return
            await self._stop()
            await self._launch(spec)

    async def _launch(self, spec: LaunchSpec) -> None:
        tries = _PORT_TRIES if self._wanted_port == 0 else 1
        while True:
            tries -= 1
            port = self._wanted_port or await self._free_port()
            try:
                await self._launch_on(port, spec)
            except ServerStartError:
                # Between the choice of a free port and its use another program can take it.
                if tries and await ports.answers(self.address.host, port):
                    continue
                raise
            self._spec = spec
            return

    async def launch_with_budget(self, spec: LaunchSpec, mode: BudgetMode, manual_tokens: int | None) -> int:
        """Bring the server up with a context by ``mode``; the tokens that one request may have.

        Raises:
            ValueError: ``manual`` without a positive number, or a number with another mode.
            BudgetResolutionError: the server does not say how long its context is. It is stopped.
            As :meth:`launch`.
        """
        spec = msgspec.structs.replace(spec, context=require_manual_tokens(mode, manual_tokens))
        places = await asyncio.to_thread(devices)
        try:
            await self.launch(spec)
            tokens = await self.context()
            if mode is BudgetMode.FORGE_FAST:
                spec = msgspec.structs.replace(spec, context=halved_context(spec, tokens))
                await self.launch(spec)
                tokens = await self.context()
        except BudgetResolutionError:
            await self.stop()
            raise
        cost = await asyncio.to_thread(_cost, spec, *room(places))
        logger.info("%s", explained(mode, spec, tokens, cost))
        return tokens

    async def restart(self) -> None:
        """Stop, and start again as it was last started.

        Raises:
            ServerStartError: it was never started, or did not come up.
        """
        if self._spec is None:
            raise ServerStartError("there is no launch yet that could be repeated")
        async with self._changing:
            await self._stop()
            await self._launch(self._spec)

    async def stop(self) -> None:
        """End the server and wait until it is gone. Idempotent; waits for a start that is under way."""
        async with self._changing:
            await self._stop()

    async def _stop(self) -> None:
        supervisor, self.supervisor = self.supervisor, None
        probe, self._probe = self._probe, None
        try:
            if supervisor is not None:
                self._earlier += supervisor.generation
                await supervisor.aclose()
        finally:
            if probe is not None:
                await probe.aclose()

    async def healthy(self) -> bool:
        """Whether our own server runs and answers."""
        if self.supervisor is None or not self.supervisor.alive:
            return False
        status = await self.status()
        return status is not None and status.ready

    async def status(self) -> Status | None:
        """What the server says of itself; None where it does not run or answer."""
        return await self._probe.ask() if self._probe is not None else None

    async def context(self) -> int:
        """Tokens that one request may have.

        Raises:
            BudgetResolutionError: the server does not say.
        """
        status = await self.status()
        if status is None or status.context is None:
            raise BudgetResolutionError(ValueError("the server does not say how long its context is"))
        return status.context

    async def _free_port(self) -> int:
        """The port chosen before, which clients know by now, unless somebody else has it; else another one."""
        known = self.address.port
        return known if known and not await ports.answers(self.address.host, known) else ports.free_port()

    async def _launch_on(self, port: int, spec: LaunchSpec) -> None:
        self.address = Address.of(port, spec.extra_flags)
        probe = Probe(spec.backend, self.address)
        self.rpc_logs = rpc.log_paths(spec.rpc) if spec.rpc is not None else None
        self.log_path = self.rpc_logs.coordinator if self.rpc_logs is not None else None

        async def start() -> Server:
            if self.rpc_logs is not None:
                both = await rpc.spawn_rpc(spec, probe, self.rpc_logs)
                self._pid = both.pid
                return both
            child = await spawn(spec, probe)
            self._pid, self.log_path = child.pid, child.launch.log_path
            return child

        supervisor = Supervisor(NAMES[spec.backend], str(self.address.root), start, self._backoff)
        try:
            await supervisor.open()
        except BaseException:
            await probe.aclose()
            raise
        self.supervisor, self._probe = supervisor, probe
        self._earlier += 1
        logger.info("%s serves %s at %s", NAMES[spec.backend], spec.shown_model, self.address.root)


def _cost(spec: LaunchSpec, place: str, free: int) -> Cost:
    model = described(spec)
    return Cost(
        place=place,
        free=free,
        model=model.size if model is not None else None,
        per_token=model.kv_bytes_per_token(spec.cache_type_k, spec.cache_type_v)
        if model is not None
        else None,
    )
