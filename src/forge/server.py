"""Model servers that Forge starts and looks after, and the context budget that comes with them.

``server, context = await setup_backend("llamaserver", gguf_path="model.gguf", port=0)`` brings up a server and
a :class:`~forge.context.ContextManager` that knows how much fits. ``await server.stop()`` ends it; so does the end
of this process, however it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from forge.clients.backend import Host
from forge.clients.model_client import ModelClient
from forge.context.hardware import detect_hardware
from forge.context.manager import CompactEvent, ContextManager
from forge.context.strategies import TieredCompact
from forge.errors import BackendUnreachableError, ServerStartError
from forge.serving.budget import BudgetMode, ollama_context, require_manual_tokens
from forge.serving.launch_spec import BACKENDS, LaunchSpec
from forge.serving.manager import ManagedServer
from forge.serving.ollama import Ollama, configured_root
from forge.serving.rpc_config import LlamaCppRpcConfig

__all__ = ["BudgetMode", "ServerManager", "setup_backend"]


class ServerManager:
    """One model server: llama-server, llamafile or vLLM as a child process, or an Ollama that runs already.

    A child that dies is started anew, with growing pauses; a client given to :func:`setup_backend` waits meanwhile.
    It ends with this process and with the event loop that it was started on.

    Args:
        backend: llamaserver, llamafile, vllm or ollama.
        port: the child's port; 0 takes a free one. Not for Ollama, which ``OLLAMA_HOST`` finds.
        models_dir: folder for relative paths of GGUF files that do not exist in the current one.

    Raises:
        ValueError: the backend is unknown, or the port is none.
    """

    def __init__(self, backend: str, port: int = 8080, models_dir: str | Path | None = None) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"unsupported backend: {backend!r} (choose from {', '.join(BACKENDS)})")
        if isinstance(port, bool) or not 0 <= port <= 65535:
            raise ValueError(f"port must be between 0 and 65535, not {port!r}")
        self.backend = backend
        self._models_dir = Path(models_dir) if models_dir is not None else None
        self._managed = ManagedServer(port)
        self._ollama: Ollama | None = None
        self._attached: str | None = None

    @property
    def port(self) -> int:
        """The child's port; with 0 asked for, the one chosen, from the first start on."""
        return self._managed.address.port

    @property
    def client_base_url(self) -> str:
        """The ``base_url`` for this server's client: an API base, or Ollama's root."""
        if self.backend == "ollama":
            return self._ollama.root if self._ollama is not None else configured_root()
        return f"{str(self._managed.address.root).rstrip('/')}/v1"

    @property
    def log_path(self) -> Path | None:
        """The file with what the child wrote since its last start; kept after its end."""
        return self._managed.log_path

    @property
    def rpc_log_paths(self) -> tuple[Path, ...]:
        """The log files of RPC worker and coordinator; empty without RPC."""
        logs = self._managed.rpc_logs
        return (logs.worker, logs.coordinator) if logs is not None else ()

    @property
    def host(self) -> Host | None:
        """What a client waits for, see :meth:`ModelClient.hosted_by`; None for Ollama, which is not ours."""
        return self._managed if self.backend != "ollama" else None

    @property
    def pid(self) -> int | None:
        """Process id of the child's guard; None where none runs."""
        return self._managed.pid

    async def start(  # noqa: PLR0913 - the public contract
        self,
        model: str | None = None,
        *,
        gguf_path: str | Path | None = None,
        model_path: str | Path | None = None,
        mode: str = "native",
        extra_flags: Sequence[str] | None = None,
        ctx_override: int | None = None,
        cache_type_k: str | None = None,
        cache_type_v: str | None = None,
        n_slots: int | None = None,
        kv_unified: bool = False,
        rpc: LlamaCppRpcConfig | None = None,
    ) -> None:
        """Start the server and wait until it serves; nothing happens where it already runs as described.

        Args:
            model: Ollama's tag; not used for the others.
            gguf_path: the model of llama-server and llamafile.
            model_path: the model of vLLM.
            mode: native gives llama.cpp ``--jinja``.
            extra_flags: more words for the command line.
            ctx_override: tokens of all slots together; None leaves it to the server.
            cache_type_k: llama.cpp's number format of the cache's keys.
            cache_type_v: likewise of its values.
            n_slots: requests served at once.
            kv_unified: the slots share the context freely.
            rpc: a second machine to share the model with.

        Raises:
            ValueError: the arguments do not go together.
            ServerStartError: it did not come up; nothing is left running.
            FileNotFoundError: there is no llamafile beside the model.
        """
        spec = self._spec(
            gguf_path=self._found(gguf_path),
            model_path=_text(model_path),
            mode=mode,
            extra_flags=tuple(extra_flags or ()),
            context=ctx_override,
            cache_type_k=cache_type_k,
            cache_type_v=cache_type_v,
            n_slots=n_slots,
            kv_unified=kv_unified,
            rpc=rpc,
        )
        if self.backend == "ollama":
            await self._attach(model)
        else:
            await self._managed.launch(spec)

    async def start_with_budget(  # noqa: PLR0913 - the public contract
        self,
        model: str | None = None,
        *,
        gguf_path: str | Path | None = None,
        model_path: str | Path | None = None,
        mode: str = "native",
        budget_mode: BudgetMode | str = BudgetMode.BACKEND,
        manual_tokens: int | None = None,
        extra_flags: Sequence[str] | None = None,
        cache_type_k: str | None = None,
        cache_type_v: str | None = None,
        n_slots: int | None = None,
        kv_unified: bool = False,
        rpc: LlamaCppRpcConfig | None = None,
    ) -> int:
        """As :meth:`start`, with a context by ``budget_mode``; gives the tokens that one request may have.

        ``forge-fast`` starts the server twice: first to see what it takes by itself, then with half of it.

        Raises:
            BudgetResolutionError: the server does not say how long its context is. It is stopped.
            As :meth:`start`; ValueError also for ``manual`` without a positive number of tokens.
        """
        budget = BudgetMode(budget_mode)
        require_manual_tokens(budget, manual_tokens)
        spec = self._spec(
            gguf_path=self._found(gguf_path),
            model_path=_text(model_path),
            mode=mode,
            extra_flags=tuple(extra_flags or ()),
            cache_type_k=cache_type_k,
            cache_type_v=cache_type_v,
            n_slots=n_slots,
            kv_unified=kv_unified,
            rpc=rpc,
        )
        if self.backend == "ollama":
            await self._attach(model)
            return await self.resolve_budget(budget, manual_tokens)
        return await self._managed.launch_with_budget(spec, budget, manual_tokens)

    async def resolve_budget(self, mode: BudgetMode | str, manual_tokens: int | None = None) -> int:
        """The budget in tokens of the server as it runs now; for Ollama, what to ask it for.

        Raises:
            ValueError: ``manual`` without a positive number, or a number with another mode.
            BudgetResolutionError: the server does not say how long its context is.
        """
        mode = BudgetMode(mode)
        tokens = require_manual_tokens(mode, manual_tokens)
        if tokens is not None:
            return tokens
        if self.backend != "ollama":
            return await self._managed.context()
        profile = await asyncio.to_thread(detect_hardware)
        return ollama_context(mode, profile.vram_total_gb if profile is not None else None)

    async def restart(self) -> None:
        """Stop, and start again as last started. Ollama is left alone, but frees the model.

        Raises:
            ServerStartError: it was never started, or did not come up.
        """
        if self.backend != "ollama":
            await self._managed.restart()
            return
        if self._attached is None:
            raise ServerStartError("there is no launch yet that could be repeated")
        model = self._attached
        await self.stop()
        await self._attach(model)

    async def stop(self) -> None:
        """End the child and wait until it is gone; let Ollama free the model. Idempotent."""
        attached, self._ollama = self._ollama, None
        if attached is not None:
            await attached.unload()
            await attached.aclose()
        await self._managed.stop()

    async def is_healthy(self) -> bool:
        """Whether our own child runs and answers; for Ollama, whether it answers."""
        if self._ollama is not None:
            return await self._ollama.version() is not None
        return await self._managed.healthy()

    async def query_props(self) -> dict[str, Any]:
        """What the server says about itself: ``/props`` of llama.cpp, ``/v1/models`` of vLLM.

        Raises:
            BackendUnreachableError: it does not run, or has nothing of the kind to say (as Ollama).
        """
        status = await self._managed.status()
        if status is None or not status.ready:
            raise BackendUnreachableError(self.client_base_url)
        return status.properties

    async def get_server_context(self) -> int | None:
        """Tokens that one request may have; None where the server does not say."""
        status = await self._managed.status()
        return status.context if status is not None else None

    def _spec(self, **fields: Any) -> LaunchSpec:
        spec = LaunchSpec(backend=self.backend, **fields)
        spec.check()
        return spec

    def _found(self, path: str | Path | None) -> Path | None:
        if path is None:
            return None
        given = Path(path).expanduser()
        if self._models_dir is not None and not given.is_absolute() and not given.exists():
            return self._models_dir / given
        return given

    async def _attach(self, model: str | None) -> None:
        if not model:
            raise ValueError("backend='ollama' requires model")
        if self._ollama is not None:
            await self._ollama.aclose()
        self._ollama, self._attached = Ollama(configured_root(), model), model
        await self._ollama.attach()


async def setup_backend(  # noqa: PLR0913, PLR0917 - the public contract
    backend: str,
    model: str | None = None,
    budget_mode: BudgetMode | str = BudgetMode.BACKEND,
    manual_tokens: int | None = None,
    client: Any = None,
    gguf_path: str | Path | None = None,
    model_path: str | Path | None = None,
    mode: str = "native",
    port: int = 8080,
    extra_flags: Sequence[str] | None = None,
    on_compact: Callable[[CompactEvent], None] | None = None,
    compact_threshold: float = 0.75,
    phase_thresholds: tuple[float, float, float] | None = None,
    cache_type_k: str | None = None,
    cache_type_v: str | None = None,
    n_slots: int | None = None,
    kv_unified: bool = False,
    context_thresholds: Iterable[float] | None = None,
    on_context_threshold: Callable[[int, int, float], str | None] | None = None,
    rpc: LlamaCppRpcConfig | None = None,
) -> tuple[ServerManager, ContextManager]:
    """Bring up a backend, with a context manager whose budget is what the backend has room for.

    The model is ``gguf_path`` for llamaserver and llamafile, ``model_path`` for vllm, ``model`` for ollama. A
    ``client`` given asks Ollama for that context, and waits while a child that died is started anew. The other
    arguments are those of :meth:`ServerManager.start_with_budget` and :class:`~forge.context.ContextManager`.

    Raises:
        ValueError: the arguments do not go together.
        As :meth:`ServerManager.start_with_budget`.
    """
    if backend != "ollama" and model is not None:
        raise ValueError(f"backend={backend!r} does not accept model")
    # Before anything is started: wrong thresholds are told at once.
    strategy = TieredCompact(compact_threshold=compact_threshold, phase_thresholds=phase_thresholds)
    server = ServerManager(backend, port)
    budget = await server.start_with_budget(
        model,
        gguf_path=gguf_path,
        model_path=model_path,
        mode=mode,
        budget_mode=budget_mode,
        manual_tokens=manual_tokens,
        extra_flags=extra_flags,
        cache_type_k=cache_type_k,
        cache_type_v=cache_type_v,
        n_slots=n_slots,
        kv_unified=kv_unified,
        rpc=rpc,
    )
    try:
        context = ContextManager(strategy, budget, on_compact, context_thresholds, on_context_threshold)
    except ValueError:
        await server.stop()
        raise
    _introduce(client, server, budget)
    return server, context


def _introduce(client: Any, server: ServerManager, budget: int) -> None:
    """Tell a client, of whatever kind, what it needs to know of its server."""
    if server.backend == "ollama" and hasattr(client, "set_num_ctx"):
        client.set_num_ctx(budget)
    elif isinstance(client, ModelClient):
        client.hosted_by(server.host)


def _text(path: str | Path | None) -> str | None:
    return str(path) if path is not None else None
