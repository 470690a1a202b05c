"""Brings up the server that a launch describes, ready or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from forge.errors import ServerStartError
from forge.serving import logs, process
from forge.serving.argv import command_line
from forge.serving.gguf import GgufError, GgufModel, read_gguf
from forge.serving.launch_spec import LaunchSpec
from forge.serving.probe import Patience, Probe, require_free, until_ready
from forge.serving.programs import program_of

NAMES: Final = {"llamaserver": "llama-server", "llamafile": "llamafile", "vllm": "vLLM"}
# Seconds without a sign of progress: vLLM compiles for long without a word.
_PATIENCE: Final = {"llamaserver": 180.0, "llamafile": 180.0, "vllm": 300.0}
_GRACE: Final = 10.0


async def spawn(spec: LaunchSpec, probe: Probe) -> process.ChildServer:
    """Start a server on the port of ``probe`` and wait until it serves.

    Raises:
        ServerStartError: the port is taken, the program is missing, or it did not come up; with the cause.
        FileNotFoundError: there is no llamafile beside the model.
    """
    name = NAMES[spec.backend]
    program = program_of(spec)
    await require_free(name, probe)
    launch = process.Launch(
        name=name,
        argv=command_line(spec, program, probe.address.port),
        log_path=logs.new_log_path(spec.backend),
        stdout_too=True,
        grace=_GRACE,
    )
    return await run(launch, spec, probe)


async def run(
    launch: process.Launch, spec: LaunchSpec, probe: Probe, quiet: float | None = None
) -> process.ChildServer:
    """Run a prepared launch. ``quiet``: seconds without progress after which it counts as hung.

    Raises:
        ServerStartError: it did not come up; the message says so too where its model file is at fault.
    """
    patience = Patience(quiet=quiet or _PATIENCE[spec.backend], size=_size(spec.gguf_path))
    try:
        child, _ = await process.start(launch, lambda child: until_ready(child, probe, patience))
    except ServerStartError as error:
        fault = await asyncio.to_thread(_model_fault, spec)
        if fault is None:
            raise
        raise ServerStartError(f"{error} ({fault})", log=error.log, hint=error.hint) from error
    return child


def described(spec: LaunchSpec) -> GgufModel | None:
    """What the header of the launch's GGUF file says; None without one that can be read."""
    try:
        return read_gguf(spec.gguf_path) if spec.gguf_path is not None else None
    except (GgufError, OSError):
        return None


def _model_fault(spec: LaunchSpec) -> str | None:
    path = spec.gguf_path
    if path is None:
        return None
    try:
        read_gguf(path)
    except OSError as error:
        return f"the model {path} cannot be read: {error.strerror or error}"
    except GgufError as error:
        return f"the model {path} cannot be used: {error}"
    return None


def _size(path: Path | None) -> int | None:
    try:
        return path.stat().st_size if path is not None else None
    except OSError:
        return None
