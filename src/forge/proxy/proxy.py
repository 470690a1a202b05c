"""A proxy inside another program: the same proxy as the command, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from forge.core.reasoning import ReasoningReplay
from forge.engine.policy import TextPolicy
from forge.proxy.lifecycle import loop_factory, why
from forge.proxy.limits import Limits
from forge.proxy.python_options import settings_from
from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings

_STOP_SECONDS = 10.0


class ProxyServer:
    """A proxy that runs while this object is started.

    ``start`` and ``stop`` block, are idempotent and may be called from any thread. The environment is not read:
    keys are arguments. A backend that is not there yet is no error; requests then get a 502 until it is.

    Args:
        backend_url: where the model server answers; None where Forge is to start ``backend`` itself.
        backend: kind of the backend; None means any OpenAI-shaped server.
        model: model name for requests that name none.
        gguf: the model of a llamaserver or llamafile that Forge starts.
        model_path: the model of a vllm that Forge starts.
        backend_port: port of the server that Forge starts; 0 takes a free one, None 8080.
        budget_mode: backend, manual, forge-full or forge-fast: who decides how long its context is.
        budget_tokens: its context with ``manual``.
        extra_flags: more words for its command line.
        host: address to listen on.
        port: port to listen on; 0 takes a free one (see :attr:`url` after ``start``).
        serialize: let one request at a time reach the backend; None does so where Forge starts it.
        max_retries: corrections of a failed answer.
        max_tool_errors: corrections of invalid arguments.
        rescue_enabled: whether calls written as text become calls.
        backend_capability: ``native``, or ``prompt`` to describe tools in the prompt.
        inject_respond_tool: offer a ``respond`` tool and demand a call.
        backend_timeout: seconds of silence after which a backend call fails.
        reasoning_replay: which thinking passes, in answers and in the history: full, keep-last or none.
        backend_api_key: the key that the backend gets.
        text_policy: when plain text is an answer: auto, nudge, respond or trust.
        constrain: whether the last attempt may be constrained to the tools' schemas.
        loop_limit: after so many equal results of equal calls in a row one more is corrected; 0 never.
        workflow: a TOML file with rules for the order of calls.
        api_key: the key that callers must send.
        allow_anonymous: serve callers without a key where one would be required.
        allowed_hosts: more names by which clients may call the proxy (their Host header).
        cors_origins: origins whose web pages may use it, like https://example.com, or *.
        max_concurrent: let so many requests at a time reach the backend.
        limits: bounds on what clients can make the proxy hold or wait for.

    Raises:
        ValueError: an argument is out of range or contradicts another.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        backend_url: str | None = None,
        backend: str | None = None,
        model: str | None = None,
        gguf: str | Path | None = None,
        model_path: str | Path | None = None,
        backend_port: int | None = None,
        budget_mode: str | None = None,
        budget_tokens: int | None = None,
        extra_flags: Sequence[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 8081,
        serialize: bool | None = None,
        max_retries: int = 3,
        max_tool_errors: int = 2,
        rescue_enabled: bool = True,
        backend_capability: str = "native",
        inject_respond_tool: bool = False,
        backend_timeout: float = 300.0,
        reasoning_replay: ReasoningReplay = "full",
        backend_api_key: str | None = None,
        *,
        text_policy: TextPolicy = "auto",
        constrain: bool = True,
        loop_limit: int = 3,
        workflow: str | Path | None = None,
        api_key: str | None = None,
        allow_anonymous: bool = False,
        allowed_hosts: Sequence[str] = (),
        cors_origins: Sequence[str] = (),
        max_concurrent: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        given = dict(locals())  # first of all: the parameters, which are settings of the same names
        del given["self"]
        self._settings = settings_from(given)
        self._settings.check()
        self._lock = threading.Lock()
        self._running: _Running | None = None

    @property
    def url(self) -> str:
        """Where the proxy answers (or will, once started)."""
        running = self._running
        if running is not None:
            return running.runtime.url
        return Runtime(self._settings).url

    def start(self) -> None:
        """Return when requests are being taken.

        Raises:
            RuntimeError: the proxy cannot start; the cause is chained.
        """
        with self._lock:
            if self._running is not None:
                return
            running = _Running(self._settings)
            running.start()
            self._running = running

    def stop(self) -> None:
        """Drain and end. Does nothing before ``start``."""
        with self._lock:
            running, self._running = self._running, None
            if running is not None:
                running.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()


class _Running:
    """A runtime and its thread."""

    def __init__(self, settings: Settings) -> None:
        self.runtime = Runtime(settings)
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._main, name="forge-proxy", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            cause = self._error
            reason = why(cause, self.runtime.settings.kind) if isinstance(cause, Exception) else repr(cause)
            raise RuntimeError(f"Proxy failed to start: {reason}") from cause

    def stop(self) -> None:
        self._call(self.runtime.stop)
        self._thread.join(self.runtime.settings.limits.drain_seconds + _STOP_SECONDS)
        if self._thread.is_alive():
            self._call(self.runtime.force)
            self._thread.join(_STOP_SECONDS)

    def _call(self, action: Any) -> None:
        loop = self._loop
        if loop is not None and self._thread.is_alive():
            try:
                loop.call_soon_threadsafe(action)
            except RuntimeError:
                return  # the loop closed in between: there is nothing left to stop

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                self._loop = runner.get_loop()
                runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - it is handed to the thread that waits in start()
            self._error = error
        finally:
            self._ready.set()

    async def _live(self) -> None:
        try:
            await self.runtime.open(require_backend=False)
            await self.runtime.serve(self._ready.set)
        finally:
            await self.runtime.aclose()
