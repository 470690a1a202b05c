"""Starts the embedded model server as an owned child process."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from forge.embedded import store
from forge.embedded.models import DEFAULT_MODEL, RUNTIME_REQUIREMENT
from forge.errors import EmbeddedModelError, ServerStartError
from forge.serving import logs, process

_TEMPLATE = Path(__file__).with_name("chatml_tools.jinja")
_MOST_THREADS = 8  # small models gain nothing from more
_NAME = "the embedded model server"


class EmbeddedServer:
    """A running embedded model server; stops when closed, and when this process ends in whatever way.

    ``base_url``: where it answers, without a path. ``model``: name of the model that it serves.
    ``context_length``: tokens that one request may hold, its answer included.
    ``log_path``: what llama.cpp writes.
    """

    def __init__(self, child: process.ChildServer, base_url: str, model: str, context_length: int) -> None:
        self._child = child
        self.base_url = base_url
        self.model = model
        self.context_length = context_length

    @property
    def log_path(self) -> Path:
        """File with what the server writes; kept after it has ended."""
        return self._child.launch.log_path

    @property
    def alive(self) -> bool:
        """Whether the server process still runs."""
        return self._child.alive

    @property
    def pid(self) -> int:
        """Process id of the process that guards the server."""
        return self._child.pid

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._child.log_tail()

    async def wait(self) -> int:
        """Wait until the server ends by itself; its exit status."""
        return await self._child.wait()

    async def aclose(self) -> None:
        """Stop the server and wait until it is gone. Idempotent."""
        await self._child.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def start(  # noqa: PLR0913 - each is one familiar knob of the server
    model: str = DEFAULT_MODEL,
    *,
    port: int = 0,
    context_length: int | None = None,
    answer_length: int | None = None,
    parallel: int = 1,
    threads: int = 0,
    own_template: bool | None = None,
    ready_timeout: float | None = 600.0,
) -> EmbeddedServer:
    """Start the embedded server: ``async with await forge.embedded.start() as server: ...``.

    Args:
        model: a name from :data:`forge.embedded.models.MODELS`; its file must have been installed.
        port: loopback port; 0 takes a free one.
        context_length: tokens; None takes the model's default.
        answer_length: tokens of an answer whose request sets no limit; None takes the model's default.
        parallel: requests served at once, sharing the context.
        threads: CPU threads; 0 takes all cores but one.
        own_template: False serves the model with Forge's tool-calling chat template, True with the one in its
            file; None takes what suits the model.
        ready_timeout: seconds until the model must be loaded; None waits as long as it lives.

    Raises:
        EmbeddedModelError: the server package or the model's file is not installed; the hint is the command.
        ServerStartError: the server did not come up; carries the cause and the end of its log.
    """
    _require_runtime()
    known = store.known_model(model)
    context_length = context_length or known.context_length
    argv = [
        *(sys.executable, "-P", "-m", "forge.embedded.server"),  # -P: no modules from the current folder
        *("--model", str(store.require(known)), "--alias", known.name, "--port", str(port)),
        *("--ctx-size", str(context_length), "--parallel", str(parallel)),
        *("--predict", str(answer_length or known.answer_limit)),
        *("--threads", str(threads or _spare_threads())),
    ]
    if not (known.own_template if own_template is None else own_template):
        argv += ["--chat-template-file", str(_TEMPLATE)]
    launch = process.Launch(
        name=_NAME,
        argv=tuple(argv),
        log_path=logs.new_log_path("embedded"),
        environment={"PYTHONPATH": _import_path()},
        ready_timeout=ready_timeout,
    )
    try:
        child, base_url = await process.start(launch, _announced_address)
    except ServerStartError:
        # Its content was verified when it was put there. Whoever sees llama.cpp stumble over it wants to know more.
        await asyncio.to_thread(store.verify, known)
        raise
    return EmbeddedServer(child, base_url, known.name, context_length)


def _spare_threads() -> int:
    """All cores but one, which stays for Forge and its client.

    llama.cpp's threads spin while they wait for one another. When another process takes one of their cores, the
    others burn theirs: on two busy cores two threads were measured to be several times slower than one.
    """
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(allowed - 1, _MOST_THREADS))


def _require_runtime() -> None:
    if find_spec("xllamacpp") is None:
        raise EmbeddedModelError(
            f"the embedded model server is not installed (package {RUNTIME_REQUIREMENT})",
            hint=f"Run: python -m pip install {RUNTIME_REQUIREMENT}",
        )


def _import_path() -> str:
    """The child must import the same ``forge`` as we did, also when it was found by ``PYTHONPATH`` or cwd."""
    source = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    return f"{source}{os.pathsep}{inherited}" if inherited else source


async def _announced_address(child: process.ChildServer) -> str:
    """The child says itself where it listens; see ``server.py``."""
    line = await child.stdout.readline()
    if not line:  # it is ending, and ``process.start`` reports how: never answer
        await asyncio.get_running_loop().create_future()
    return msgspec.json.decode(line, type=dict[str, str])["listening"]
