"""What a client asks an Ollama server beside chat: what a model can do, and how many tokens it has room for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from yarl import URL

from forge.clients.transport import Transport
from forge.clients.urls import join
from forge.errors import BackendError, StreamError
from forge.wire.json_text import dumps, loads

_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


class ModelCard(Struct, frozen=True, kw_only=True):
    """What ``/api/show`` says; None where it does not say.

    ``context_length`` is what the model's own parameters set, ``longest_context`` what the model was made for.
    """

    tools: bool | None = None
    thinks: bool | None = None
    context_length: int | None = None
    longest_context: int | None = None


def read_card(answer: Any) -> ModelCard:
    """The card in an answer of ``/api/show``."""
    if not isinstance(answer, dict):
        return ModelCard()
    able = answer.get("capabilities")
    parameters, info = answer.get("parameters"), answer.get("model_info")
    set_by_model = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    architecture = info.get("general.architecture") if isinstance(info, dict) else None
    return ModelCard(
        tools="tools" in able if isinstance(able, list) else None,
        thinks="thinking" in able if isinstance(able, list) else None,
        context_length=int(set_by_model[1]) if set_by_model else None,
        longest_context=_int(info.get(f"{architecture}.context_length")) if isinstance(info, dict) else None,
    )


def read_loaded(answer: Any, model: str) -> int | None:
    """Tokens that ``model`` has room for as it is loaded, in an answer of ``/api/ps``; None where it is not."""
    models = answer.get("models") if isinstance(answer, dict) else None
    for entry in models if isinstance(models, list) else ():
        names = {entry.get("name"), entry.get("model")} if isinstance(entry, dict) else set()
        if model in names or f"{model}:latest" in names:
            return _int(entry.get("context_length"))
    return None


class OllamaServer:
    """The server at ``root``. Cards are remembered, failures are not."""

    def __init__(self, transport: Transport, root: URL) -> None:
        self._transport = transport
        self._root = root
        self._cards: dict[str, ModelCard] = {}

    async def card(self, model: str, headers: Mapping[str, str]) -> ModelCard:
        """What the server knows of ``model``; an empty card where it does not tell.

        Raises:
            BackendUnreachableError: nothing answers.
        """
        if model not in self._cards:
            answer = await self._ask("POST", "/api/show", headers, dumps({"model": model}))
            if answer is None:
                return ModelCard()
            self._cards[model] = read_card(answer)
        return self._cards[model]

    async def loaded_context(self, model: str, headers: Mapping[str, str]) -> int | None:
        """Tokens that the running ``model`` has room for, None while it is not loaded.

        Raises:
            BackendUnreachableError: nothing answers.
        """
        return read_loaded(await self._ask("GET", "/api/ps", headers), model)

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Any:
        """The decoded answer, None for one that is no use: the chat itself will say what is wrong."""
        url = join(self._root, path)
        try:
            async with self._transport.open(method, url, headers=headers, body=body) as incoming:
                return loads(await incoming.read()) if incoming.status == 200 else None
        except (BackendError, StreamError, ValueError):
            return None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
