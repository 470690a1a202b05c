"""Which settings go together when Forge starts the model server, and which need that. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from forge.proxy.settings import Settings

MANAGEABLE: Final = frozenset({"llamaserver", "llamafile", "vllm", "ollama"})
"""Backends that Forge starts, or attaches to as with Ollama, where no URL is given."""
BUDGET_MODES: Final = ("backend", "manual", "forge-full", "forge-fast")

IDENTITY: Final = {"llamaserver": "gguf", "llamafile": "gguf", "vllm": "model_path", "ollama": "model"}
_NO_EXTRA_FLAGS: Final = "extra_flags are not supported for unmanaged backends"
_LLAMA_FLAGS: Final = ("--host", "--port", "-m", "--model", "-c", "--ctx-size")
_OWN_FLAGS: Final = {
    "llamaserver": _LLAMA_FLAGS,
    "llamafile": _LLAMA_FLAGS,
    "vllm": ("--host", "--port", "--max-model-len"),
}


def managed_fault(settings: Settings) -> str | None:
    """What is wrong with the settings for managed servers, in one sentence; None if nothing is."""
    if settings.managed:
        return _wrong_identity(settings) or _wrong_budget(settings) or _wrong_flags(settings)
    return _needs_managed(settings)


def _wrong_identity(settings: Settings) -> str | None:
    wanted = IDENTITY[settings.kind]
    if not getattr(settings, wanted):
        also = f"{wanted} (or backend_url, for a server that runs already)"
        return f"backend={settings.kind!r} requires {also}"
    for name in ("gguf", "model_path", "model"):
        if name != wanted and getattr(settings, name) is not None:
            return f"backend={settings.kind!r} does not accept {name}; use {wanted}"
    port = settings.backend_port
    if port is not None and not 0 <= port <= 65535:
        return "backend_port must be between 0 and 65535"
    if port is not None and settings.kind == "ollama":
        return "backend='ollama' does not accept backend_port; OLLAMA_HOST says where it runs"
    return None


def _wrong_budget(settings: Settings) -> str | None:
    mode, tokens = settings.budget_mode, settings.budget_tokens
    if mode is not None and mode not in BUDGET_MODES:
        return f"budget_mode must be one of: {', '.join(BUDGET_MODES)}"
    if mode == "manual":
        return (
            None
            if tokens is not None and tokens > 0
            else "manual budget_mode requires positive budget_tokens"
        )
    return "budget_tokens is only accepted with manual budget_mode" if tokens is not None else None


def _wrong_flags(settings: Settings) -> str | None:
    if not settings.extra_flags:
        return None
    if settings.kind == "ollama":
        return "extra_flags are not supported for managed Ollama"
    own = owned_flags(settings.extra_flags, _OWN_FLAGS[settings.kind])
    return f"extra_flags: {', '.join(own)} conflicts with a Forge-owned option" if own else None


def owned_flags(given: Sequence[str], owned: Sequence[str]) -> list[str]:
    """Those of ``owned`` that are given, alone or as ``flag=value``."""
    present = {word.partition("=")[0] for word in given}
    return [flag for flag in owned if flag in present]


def _needs_managed(settings: Settings) -> str | None:
    who = "backend='embedded' does" if settings.embedded else "unmanaged backends do"
    for name in ("gguf", "model_path", "budget_mode"):
        if getattr(settings, name) is not None:
            return f"{who} not accept {name}"
    if settings.budget_tokens is not None and settings.budget_tokens <= 0:
        return "unmanaged budget_tokens must be positive"
    if settings.backend_port is not None and not 1 <= settings.backend_port <= 65535:
        return "backend_port of a server that runs must be between 1 and 65535"
    if settings.embedded and (settings.backend_port is not None or settings.budget_tokens is not None):
        return "backend='embedded' accepts neither backend_port nor budget_tokens"
    if settings.extra_flags:
        return f"{who} not accept extra_flags" if settings.embedded else _NO_EXTRA_FLAGS
    return None
