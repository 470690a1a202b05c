"""Which client speaks to which kind of backend: one table, one row per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from forge.clients.anthropic import VERSION, AnthropicClient
from forge.clients.backend import Backend
from forge.clients.llamafile import LlamafileClient
from forge.clients.ollama import OllamaClient
from forge.clients.transport import Timeouts
from forge.clients.vllm import VLLMClient
from forge.core.request import Protocol, Request
from forge.proxy.addresses import mount_root
from forge.proxy.settings import Settings
from forge.wire import anthropic, ollama
from forge.wire.anthropic import ThinkingMeans


def nothing(_: Request) -> tuple[str, ...]:
    """A backend that is told everything."""
    return ()


@dataclass(frozen=True, slots=True)
class BackendKind:
    """How one kind of backend is spoken to.

    ``protocol``: what it speaks. A request in that protocol in which nothing is guarded passes byte for byte; others
    are converted. ``thinking``: how it is told about thinking. ``names_its_model``: it refuses every model name but
    its own, which those requests then get. ``shows_template``: it tells its chat template, which may demand things.
    ``unsupported`` names what of a request it has nothing for. ``limits_callers``: its answers may tell of rate limits, and have ids.
    ``key_slot``: the header in which it looks for a key. ``headers``: what every request to it must carry.
    """

    client: Callable[[Settings, str], Backend]
    protocol: Protocol = Protocol.OPENAI
    thinking: ThinkingMeans = ThinkingMeans.LLAMA
    names_its_model: bool = False
    shows_template: bool = False
    unsupported: Callable[[Request], tuple[str, ...]] = nothing
    key_slot: str = "authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    limits_callers: bool = False


def _llamafile(settings: Settings, url: str) -> Backend:
    return LlamafileClient(
        gguf_path=settings.gguf or settings.model or "default",
        base_url=mount_root(url) + "/v1",
        mode=settings.backend_capability,
        timeout=timeouts_of(settings),
        api_key=settings.backend_api_key or "",
    )


def _ollama(settings: Settings, url: str) -> Backend:
    return OllamaClient(
        model=settings.model or "",
        base_url=mount_root(url),
        timeout=timeouts_of(settings),
        api_key=settings.backend_api_key or "",
    )


def _vllm(settings: Settings, url: str) -> Backend:
    return VLLMClient(
        model_path=settings.model_path or settings.model or "default",
        base_url=mount_root(url) + "/v1",
        timeout=timeouts_of(settings),
        api_key=settings.backend_api_key or "",
        adopt_served_identity=settings.model is None,
    )


def _anthropic(settings: Settings, url: str) -> Backend:
    return AnthropicClient(
        model=settings.model,
        # "" keeps the proxy from spending a key that happens to be in its environment.
        api_key=settings.backend_api_key or "",
        base_url=mount_root(url),
        timeout=timeouts_of(settings),
        # The caller is told at once, and waits as long as the API says: a wait here would cost it the status.
        max_retries=0,
    )


KINDS: Final[Mapping[str, BackendKind]] = {
    "llamaserver": BackendKind(_llamafile, shows_template=True),
    "llamafile": BackendKind(_llamafile, shows_template=True),
    "ollama": BackendKind(_ollama, thinking=ThinkingMeans.EFFORT, unsupported=ollama.unsupported),
    "vllm": BackendKind(_vllm, thinking=ThinkingMeans.TEMPLATE, names_its_model=True, limits_callers=True),
    "openai": BackendKind(
        _llamafile, shows_template=True, thinking=ThinkingMeans.ASKED_EFFORT, limits_callers=True
    ),
    "anthropic": BackendKind(
        _anthropic,
        protocol=Protocol.ANTHROPIC,
        unsupported=anthropic.unsupported,
        key_slot="x-api-key",
        headers=VERSION,
        limits_callers=True,
    ),
    "embedded": BackendKind(_llamafile, shows_template=True),
}


def timeouts_of(settings: Settings) -> Timeouts:
    """The bounds on the phases of one call to the backend."""
    limits, patience = settings.limits, settings.backend_timeout
    return Timeouts(
        connect=min(limits.connect_seconds, patience),
        first_byte=limits.first_byte_seconds or patience,
        between_bytes=limits.between_bytes_seconds or patience,
    )


def make_backend(settings: Settings, url: str) -> Backend:
    """The client for ``settings.kind``, speaking to ``url`` (the embedded server's own one for embedded)."""
    return KINDS[settings.kind].client(settings, url)
