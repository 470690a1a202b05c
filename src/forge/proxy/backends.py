"""Which client speaks to which kind of backend: one table, one row per kind."""

from __future__ import annotations

from collections.abc import Callable

from forge.clients.backend import Backend
from forge.clients.llamafile import LlamafileClient
from forge.proxy.settings import Settings, mount_root


def _llamafile(settings: Settings, url: str) -> Backend:
    return LlamafileClient(
        gguf_path=settings.model or "default",
        base_url=mount_root(url) + "/v1",
        mode=settings.backend_capability,
        timeout=settings.backend_timeout,
        api_key=settings.backend_api_key or "",
    )


_FACTORIES: dict[str, Callable[[Settings, str], Backend]] = {
    "llamaserver": _llamafile,
    "openai": _llamafile,
    "embedded": _llamafile,
}


def make_backend(settings: Settings, url: str) -> Backend:
    """The client for ``settings.kind``, speaking to ``url`` (the embedded server's own one for embedded)."""
    return _FACTORIES[settings.kind](settings, url)
