"""What a client asks a llama-server beside chat: its properties and its tokenizer. Asked once, then remembered."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from yarl import URL

from forge.clients.llama_props import Props, read_props
from forge.clients.transport import Transport
from forge.clients.urls import join, masked, without_v1
from forge.errors import BackendError, BackendUnreachableError, ContextDiscoveryError, StreamError
from forge.wire.json_text import dumps, loads

logger = logging.getLogger(__name__)


class LlamaServer:
    """The server behind an API base. It may turn out to be no llama-server: then there is nothing to know."""

    def __init__(self, transport: Transport, base: URL) -> None:
        self._transport = transport
        self._root = without_v1(base)
        self._asked = False
        self._props: Props | None = None
        self._single_tokens: tuple[int, ...] | None = None
        self._tokenizes = True

    def forget(self) -> None:
        """Ask again next time: whatever answers there then may be another server with another model."""
        self._asked = False
        self._tokenizes = True
        self._props = self._single_tokens = None

    @property
    def is_llama_server(self) -> bool:
        """Whether ``/props`` was answered as llama-server answers it."""
        return self._props is not None

    @property
    def asked(self) -> bool:
        """Whether ``known`` is what the server said, be it that it has nothing to show."""
        return self._asked

    @property
    def known(self) -> Props | None:
        """Its properties as far as they were asked for."""
        return self._props

    async def props(self, headers: Mapping[str, str]) -> Props | None:
        """The server's properties, None where it has none to show.

        Raises:
            BackendError: the model is still loading (503).
            BackendUnreachableError: nothing answers.
        """
        if self._asked:
            return self._props
        status, body = await self._get_props(headers)
        if status == 503:
            raise BackendError(503, "the model is still loading", raw_body=body.decode("utf-8", "replace"))
        if status in (401, 403):
            # The key may come with each call; the chat request itself will say what is wrong with it.
            return None
        try:
            self._props = read_props(loads(body)) if status == 200 else None
        except ValueError:
            self._props = None
        self._asked = True
        if self._props is None:
            logger.info("%s shows no /props, so it is taken for no llama-server", masked(str(self._root)))
        return self._props

    async def context_length(self, headers: Mapping[str, str]) -> int | None:
        """Tokens per request as the server says now; None where it does not say.

        Raises:
            ContextDiscoveryError: its answer cannot be read.
            BackendUnreachableError: nothing answers.
        """
        status, body = await self._get_props(headers)
        if status != 200:
            return None
        try:
            props = read_props(loads(body))
        except ValueError as error:
            raise ContextDiscoveryError(error) from error
        return props.context_length if props is not None else None

    async def single_tokens(self, texts: Iterable[str], headers: Mapping[str, str]) -> tuple[int, ...]:
        """Those tokens that are one of ``texts`` each; none where there is no tokenizer to ask. Asked once."""
        if self._single_tokens is None:
            tokens: set[int] = set()
            for text in texts if self.is_llama_server else ():
                found = await self._tokenize(text, headers)
                if found is None:
                    break
                tokens.update(found if len(found) == 1 else ())
            self._single_tokens = tuple(sorted(tokens))
        return self._single_tokens

    async def count_tokens(self, text: str, headers: Mapping[str, str]) -> int | None:
        """Tokens of ``text``; None where there is no tokenizer to ask. One that failed is not asked again."""
        try:
            await self.props(headers)
        except (BackendError, BackendUnreachableError, StreamError):
            return None
        if not (self.is_llama_server and self._tokenizes):
            return None
        tokens = await self._tokenize(text, headers)
        self._tokenizes = tokens is not None
        return len(tokens) if tokens is not None else None

    async def _get_props(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        async with self._transport.open("GET", join(self._root, "/props"), headers=headers) as incoming:
            return incoming.status, await incoming.read()

    async def _tokenize(self, text: str, headers: Mapping[str, str]) -> list[int] | None:
        body = dumps({"content": text, "add_special": False})
        url = join(self._root, "/tokenize")
        try:
            async with self._transport.open("POST", url, headers=headers, body=body) as incoming:
                answer = loads(await incoming.read()) if incoming.status == 200 else None
        except (BackendError, BackendUnreachableError, StreamError, ValueError):
            return None
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            return None
        return tokens
