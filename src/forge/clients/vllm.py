"""Client for vLLM's OpenAI-compatible server."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from forge.clients.backend import Tokenizer
from forge.clients.credentials import call_headers
from forge.clients.model_catalog import ServedModel, read_catalog
from forge.clients.openai_compat import ALL_CHOICES, OpenAICompatClient
from forge.clients.transport import Timeouts
from forge.clients.urls import join, without_v1
from forge.core.capabilities import Capabilities
from forge.core.request import Request, ToolChoice
from forge.errors import BackendDiscoveryError, BackendError, BackendUnreachableError, StreamError
from forge.wire.json_text import dumps, loads
from forge.wire.prompted import as_prompted

logger = logging.getLogger(__name__)

# What a server that was started without a tool parser says to a request with tools.
_NO_TOOL_PARSER = ("--enable-auto-tool-choice", "--tool-call-parser")
_OWN_NAMES = {"repeat_penalty": "repetition_penalty"}
"""vLLM's names of sampling fields, where they are not the common ones."""


class VLLMClient(OpenAICompatClient, Tokenizer):
    """Talks to one vLLM server.

    ``model_path`` is the model as vLLM was told to serve it, sent verbatim; its last segment is the ``sampling_key``.
    vLLM refuses every other name than the served ones, so with ``adopt_served_identity`` the first served model
    stands in where ``model_path`` is not served; after a restart with another model it is asked again. A server
    that runs without a tool parser gets the tools described in the prompt.

    ``timeout`` and the errors are those of :class:`OpenAICompatClient`.
    """

    def __init__(  # noqa: PLR0913 - the public contract
        self,
        model_path: str | PurePath,
        *,
        base_url: str = "http://localhost:8000/v1",
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        repeat_penalty: float | None = None,
        presence_penalty: float | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        timeout: float | Timeouts | None = 300.0,
        think: bool | None = True,
        recommended_sampling: bool = False,
        api_key: str = "",
        extra_headers: Mapping[str, str] | None = None,
        adopt_served_identity: bool = True,
    ) -> None:
        super().__init__(
            str(model_path),
            base_url,
            api_key=api_key,
            extra_headers=extra_headers,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            min_p=min_p,
            repeat_penalty=repeat_penalty,
            presence_penalty=presence_penalty,
            chat_template_kwargs=chat_template_kwargs,
            timeout=timeout,
            recommended_sampling=recommended_sampling,
            think=think,
            max_retries=0,
        )
        self.adopt_served_identity = adopt_served_identity
        self._named = str(model_path)
        self._served: ServedModel | None = None
        self._refused: str | None = None
        self._has_tool_parser = True
        self._tokenizes = True

    async def get_context_length(self) -> int | None:
        """Tokens that one request to this model may have, asked anew; None where the server does not say.

        Raises:
            BackendDiscoveryError: it does not show its catalogue.
            BackendError: the catalogue cannot be read.
            BackendUnreachableError: nothing answers.
        """
        served = await self._find(self._headers)
        return served.context_length if served is not None else None

    async def count_tokens(self, text: str, *, headers: Mapping[str, str] | None = None) -> int | None:
        """Tokens of ``text``; see :meth:`forge.clients.backend.Tokenizer.count_tokens`. A failure is not repeated."""
        if not self._tokenizes:
            return None
        body = dumps({"model": self.model, "prompt": text, "add_special_tokens": False})
        url = join(without_v1(self._base), "/tokenize")
        sent = call_headers(self._headers, headers, self._base)
        try:
            async with self._transport.open("POST", url, headers=sent, body=body) as incoming:
                answer = loads(await incoming.read()) if incoming.status == 200 else None
        except (BackendError, BackendUnreachableError, StreamError, ValueError):
            answer = None
        count = answer.get("count") if isinstance(answer, dict) else None
        self._tokenizes = isinstance(count, int)
        return count if isinstance(count, int) else None

    async def get_served_model_name(self) -> str | None:
        """The first model that the server names; None where it names none.

        Raises:
            BackendDiscoveryError: it does not show its catalogue.
            BackendError: the catalogue cannot be read.
            BackendUnreachableError: nothing answers.
        """
        catalogue = await self._catalogue(self._headers)
        return catalogue[0].id if catalogue else None

    def _sampling_key(self, model: str) -> str:
        return PurePath(model).name

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:
        """What vLLM does, and what it says about its model."""
        if self._served is None and self.adopt_served_identity:
            self._served = await self._find(headers)
            if self._served is not None:
                self.model = self._served.id
        return Capabilities(
            native_tools=self._has_tool_parser,
            # Without a tool parser forced calls are refused like all others.
            tool_choice_modes=ALL_CHOICES if self._has_tool_parser else frozenset({"auto", "none"}),
            constrains=True,
            constrained_by="response_format",
            context_length=self._served.context_length if self._served is not None else None,
            model=self.model,
            parallel_calls=True,
            counts_tokens=self._tokenizes,
            thinking_by="chat_template_kwargs",
            reasoning_field="reasoning",
        )

    def _encoded(self, request: Request, able: Capabilities) -> bytes:
        if not able.native_tools:
            request = as_prompted(request)
        elif request.tools and request.tool_choice is None:
            request = msgspec.structs.replace(request, tool_choice=ToolChoice("auto"))
        names = [name for name in _OWN_NAMES if name in request.options]
        if names:
            options = {_OWN_NAMES.get(name, name): value for name, value in request.options.items()}
            request = msgspec.structs.replace(request, options=options)
        return super()._encoded(request, able)

    def _defaults(self) -> dict[str, bytes]:
        return {_OWN_NAMES.get(name, name): dumps(value) for name, value in self.sampling.items()}

    def _mended(self, request: Request, error: BackendError) -> Request | None:
        if self._has_tool_parser and request.tools and any(flag in error.body for flag in _NO_TOOL_PARSER):
            logger.warning(
                "vLLM at %s runs without %s, so tools are described in the prompt",
                self.base_url,
                " and ".join(_NO_TOOL_PARSER),
            )
            self._has_tool_parser = False
            return request
        served = self._served
        if served is not None and error.status_code == 404 and served.id != self._refused:
            # Another model is served by now; should it be the same one after all, that is not tried for ever.
            self._refused, self._served, self.model = served.id, None, self._named
            return request
        return super()._mended(request, error)

    async def _find(self, headers: Mapping[str, str]) -> ServedModel | None:
        """The catalogue's entry for this client's model, or for the one that stands in for it."""
        catalogue = await self._catalogue(headers)
        for served in catalogue:
            if served.id == self._named:
                return served
        return catalogue[0] if catalogue and self.adopt_served_identity else None

    async def _catalogue(self, headers: Mapping[str, str]) -> list[ServedModel]:
        url = join(self._base, "/models")
        async with self._transport.open("GET", url, headers=headers) as incoming:
            if incoming.status != 200:
                error = BackendDiscoveryError(incoming.status)
                # A key that is missing or wrong is the caller's to mend, everything else is not.
                error.status = 401 if incoming.status in (401, 403) else 502
                raise error
            return read_catalog(await incoming.read())
