"""The command's life: signals, exit codes, and one clear line for whatever goes wrong.

Exit codes: 0 after a stop that was asked for, 1 when the proxy could not start,
2 for flags that cannot be (the command line's own business), 130 when interrupted twice.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlsplit

from forge.errors import BackendUnreachableError, ForgeError
from forge.proxy.error_response import describe
from forge.proxy.memory import allow_many_sockets, settle
from forge.proxy.runtime import Runtime
from forge.proxy.server import BindError
from forge.proxy.settings import Settings

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
_FORCED_SECONDS = 2.0
"""After a second signal, for last words to clients; and again for the model server, until it is killed."""


class Stop:
    """What signals ask for. The first asks for an orderly end, the second for an end."""

    def __init__(self, on_first: Callable[[], None]) -> None:
        self._on_first = on_first
        self.asked = asyncio.Event()
        self.forced = asyncio.Event()

    def __call__(self) -> None:
        """A signal arrived."""
        if self.asked.is_set():
            self.forced.set()
        else:
            self.asked.set()
            self._on_first()

    def install(self) -> None:
        """Take SIGINT, SIGTERM and SIGHUP (and SIGBREAK where it exists) from now on."""
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
                continue  # nohup has its reasons
            try:
                loop.add_signal_handler(number, self)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self))


class Screen:
    """Where the command's words go; the announcement is made by the command line. ``fail`` takes what went wrong."""

    def __init__(
        self, announce: Callable[[Runtime], None], say: Callable[[str], None], fail: Callable[[str], None]
    ) -> None:
        self.announce = announce
        self.say = say
        self.fail = fail


def run(settings: Settings, screen: Screen) -> int:
    """Run a proxy until a signal ends it; the exit code."""
    allow_many_sockets()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(settings, screen))


async def _run(settings: Settings, screen: Screen) -> int:
    stop = Stop(lambda: screen.say("Shutting down... (once more to end at once)"))
    stop.install()
    runtime = Runtime(settings)
    code = EXIT_OK
    try:
        await _until_forced(_live(runtime, stop, screen), stop, runtime.force)
    except (ForgeError, BindError) as error:
        screen.fail(why(error, settings.kind))
        for said in getattr(error, "log", "").splitlines():
            screen.say(f"  | {said}")
        code = EXIT_FAILED
    # What was started is ended, also now; a third signal cannot change that.
    await _until_forced(runtime.aclose(), stop)
    return EXIT_INTERRUPTED if stop.forced.is_set() else code


async def _until_forced(
    work: Coroutine[Any, Any, None], stop: Stop, hurry: Callable[[], None] = lambda: None
) -> None:
    """Await ``work``. Once a second signal came, ``hurry`` is called, and soon ``work`` is cancelled."""
    task, forced = asyncio.create_task(work), asyncio.create_task(stop.forced.wait())
    try:
        await asyncio.wait({task, forced}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            hurry()
            await asyncio.wait({task}, timeout=_FORCED_SECONDS)
        if task.done():
            task.result()
    finally:
        forced.cancel()
        await _cancelled(task)


async def _live(runtime: Runtime, stop: Stop, screen: Screen) -> None:
    asked = asyncio.create_task(stop.asked.wait())
    try:
        opening = runtime.open(require_backend=True, on_waiting=lambda url: screen.say(_waiting(url)))
        if not await _done_before(opening, asked):
            return
        settle()
        serving = asyncio.create_task(runtime.serve(lambda: screen.announce(runtime)))
        try:
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
            runtime.stop()
            await serving
        finally:
            await _cancelled(serving)
    finally:
        asked.cancel()


async def _done_before(work: Coroutine[Any, Any, None], ender: asyncio.Task[Any]) -> bool:
    """Whether ``work`` came to its end before ``ender`` did; it is cancelled otherwise."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task, ender}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            return True
        return False
    finally:
        await _cancelled(task)


async def _cancelled(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


_STARTERS = {
    "llamaserver": "llama-server -m model.gguf --jinja --port {port}",
    "openai": "llama-server -m model.gguf --jinja --port {port}",
    "llamafile": "./model.llamafile --server --port {port}",
    "ollama": "ollama serve",
    "vllm": "vllm serve MODEL --port {port}",
}


def why(error: Exception, kind: str) -> str:
    """One line: what went wrong and, where known, what to do about it; ``kind`` is the backend's."""
    if isinstance(error, BackendUnreachableError):
        sentence = describe(error).message
        if isinstance(error.cause, socket.gaierror):  # nothing can be started there
            return f"{sentence}. Is the host in --backend-url spelled right?"
        if sentence.endswith("?"):  # something is there, and what is wrong has been asked already
            return sentence
        starter = _STARTERS.get(kind)
        start = f"Start it first, for example: {starter}; or use" if starter else "Use"
        return f"{sentence}. {start.format(port=_port(error.url))} --wait, or --backend embedded"
    text = " ".join(str(error).split())
    hint = getattr(error, "hint", "")
    return f"{text} ({hint})" if hint else text


def _port(url: str) -> int:
    try:
        return urlsplit(url).port or 8080
    except ValueError:
        return 8080


def _waiting(url: str) -> str:
    return f"waiting for the backend at {url} (nothing answers there yet)"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop to run on: uvloop where there is uvloop."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
