"""The proxy's own model server: started as the settings say, known to the client that speaks to it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from forge.clients.backend import Backend, Host
from forge.clients.model_client import ModelClient
from forge.clients.ollama import OllamaClient
from forge.errors import BudgetResolutionError, ServerStartError
from forge.proxy.settings import Settings

if TYPE_CHECKING:
    from forge.server import ServerManager

_log = logging.getLogger("forge.proxy")
_DEFAULT_PORT = 8080


def manager_for(settings: Settings) -> ServerManager:
    """The manager of the server that the settings describe; nothing is started."""
    from forge.server import ServerManager

    port = _DEFAULT_PORT if settings.backend_port is None else settings.backend_port
    return ServerManager(settings.kind, port)


async def start_managed(manager: ServerManager, settings: Settings) -> int | None:
    """Start the server; the tokens that one request may have, None where the server does not say.

    Raises:
        ServerStartError: it did not come up.
        BudgetResolutionError: the context that was asked for cannot be arranged.
    """
    mode = settings.budget_mode or "backend"
    flags = list(settings.extra_flags)
    if settings.kind == "vllm":
        # Left alone it listens on every address, where nobody is asked for a key.
        flags = ["--host", "127.0.0.1", *flags]
    gguf, model_path = settings.gguf, settings.model_path
    try:
        return await manager.start_with_budget(
            settings.model,
            gguf_path=gguf,
            model_path=model_path,
            budget_mode=mode,
            manual_tokens=settings.budget_tokens,
            extra_flags=flags,
        )
    except FileNotFoundError as error:
        raise ServerStartError(str(error)) from error
    except BudgetResolutionError:
        if mode != "backend":
            raise
    _log.warning("the server does not say how long its context is")
    await manager.start(settings.model, gguf_path=gguf, model_path=model_path, extra_flags=flags)
    return None


def introduce(backend: Backend, host: Host | None, budget: int | None) -> None:
    """Tell the client what it needs to know of its server: who keeps it running, the context that was worked out."""
    if isinstance(backend, OllamaClient) and budget is not None:
        backend.set_num_ctx(budget)
    elif isinstance(backend, ModelClient):
        backend.hosted_by(host)
