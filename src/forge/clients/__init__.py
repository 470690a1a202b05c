"""Clients of model servers, imported on first use: each alone, and none by those who need no network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.clients.anthropic import AnthropicClient
    from forge.clients.llamafile import LlamafileClient
    from forge.clients.ollama import OllamaClient
    from forge.clients.openai_compat import OpenAICompatClient
    from forge.clients.vllm import VLLMClient

__all__ = ["AnthropicClient", "LlamafileClient", "OllamaClient", "OpenAICompatClient", "VLLMClient"]

_MODULE_OF = {
    "AnthropicClient": "anthropic",
    "LlamafileClient": "llamafile",
    "OllamaClient": "ollama",
    "OpenAICompatClient": "openai_compat",
    "VLLMClient": "vllm",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'forge.clients' has no attribute {name!r}")
    return getattr(import_module(f"forge.clients.{_MODULE_OF[name]}"), name)
