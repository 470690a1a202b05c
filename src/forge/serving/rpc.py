"""A model served by two machines: llama.cpp's worker on one, started over ssh, and its coordinator on this one."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from msgspec import Struct

from forge.errors import ServerStartError
from forge.serving import ports, process
from forge.serving.argv import command_line
from forge.serving.launch_spec import LaunchSpec
from forge.serving.probe import Probe, require_free
from forge.serving.programs import program_of
from forge.serving.rpc_config import LlamaCppRpcConfig
from forge.serving.spawn import run

_WORKER: Final = "the llama.cpp RPC worker"
_GRACE: Final = 10.0
_POLL: Final = 0.1


class RpcLogs(Struct, frozen=True):
    """The log files of worker and coordinator."""

    worker: Path
    coordinator: Path


class RpcServers:
    """Worker and coordinator, which live and end together."""

    def __init__(self, worker: process.ChildServer, coordinator: process.ChildServer) -> None:
        self._worker = worker
        self._coordinator = coordinator

    @property
    def pid(self) -> int:
        """Process id of the guard of the coordinator."""
        return self._coordinator.pid

    @property
    def alive(self) -> bool:
        """Whether both run."""
        return self._worker.alive and self._coordinator.alive

    async def wait(self) -> int:
        """Wait until one of them ends; its exit status."""
        waits = [asyncio.ensure_future(child.wait()) for child in (self._coordinator, self._worker)]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for wait in waits:
                wait.cancel()

    def log_tail(self) -> str:
        """The last lines of the one that ended, else of the coordinator."""
        return (self._coordinator if self._worker.alive else self._worker).log_tail()

    async def aclose(self) -> None:
        """End the coordinator, then the worker. Idempotent."""
        try:
            await self._coordinator.aclose()
        finally:
            await self._worker.aclose()


def log_paths(config: LlamaCppRpcConfig) -> RpcLogs:
    """Where the logs go; makes a temporary folder where none is configured.

    Raises:
        ServerStartError: the folder cannot be made.
    """
    if config.log_directory is None:
        folder = Path(tempfile.mkdtemp(prefix="forge-rpc-"))
    else:
        folder = Path(config.log_directory)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ServerStartError(f"no log can be written in {folder}: {error.strerror or error}") from error
    return RpcLogs(folder / "rpc-worker.log", folder / "rpc-coordinator.log")


async def spawn_rpc(spec: LaunchSpec, probe: Probe, written: RpcLogs) -> RpcServers:
    """Start the worker, then the coordinator, and wait until both serve.

    Raises:
        ServerStartError: one of them did not come up; nothing is left running. A note names the logs.
    """
    assert spec.rpc is not None
    try:
        program = program_of(spec)
        await require_free("the llama.cpp RPC coordinator", probe)
        worker = await _start_worker(spec.rpc, written.worker)
        try:
            return RpcServers(worker, await _start_coordinator(spec, program, probe, (worker, written)))
        except BaseException:
            await worker.aclose()
            raise
    except ServerStartError as error:
        error.add_note(f"logs: {written.worker} and {written.coordinator}")
        raise


async def _start_worker(config: LlamaCppRpcConfig, log: Path) -> process.ChildServer:
    worker = config.worker
    if await ports.answers(worker.rpc_host, worker.rpc_port):
        raise ServerStartError(
            f"{_WORKER} cannot start: something listens at {worker.rpc_host}:{worker.rpc_port} already",
            hint="Stop it, or choose another rpc_port.",
        )
    launch = process.Launch(
        name=_WORKER,
        argv=worker.command_line(),
        log_path=log,
        stdout_too=True,
        ready_timeout=config.startup_timeout,
        grace=_GRACE,
    )

    async def listening(_child: process.ChildServer) -> str:
        while not await ports.answers(worker.rpc_host, worker.rpc_port):  # noqa: ASYNC110 - nobody else would tell
            await asyncio.sleep(_POLL)
        return f"{worker.rpc_host}:{worker.rpc_port}"

    child, _ = await process.start(launch, listening)
    return child


async def _start_coordinator(
    spec: LaunchSpec, program: str, probe: Probe, started: tuple[process.ChildServer, RpcLogs]
) -> process.ChildServer:
    config, (worker, written) = spec.rpc, started
    assert config is not None
    launch = process.Launch(
        name="the llama.cpp RPC coordinator",
        argv=command_line(spec, program, probe.address.port),
        log_path=written.coordinator,
        stdout_too=True,
        environment=dict(config.coordinator_environment),
        ready_timeout=config.startup_timeout,
        grace=_GRACE,
    )
    starting = asyncio.ensure_future(run(launch, spec, probe, config.startup_timeout))
    ended = asyncio.ensure_future(worker.wait())
    try:
        await asyncio.wait({starting, ended}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            raise process.start_error(
                worker, f"ended with status {ended.result()} while the model was loaded"
            )
        return await starting
    finally:
        ended.cancel()
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
