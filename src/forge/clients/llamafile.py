"""Client for llama-server and llamafile, and for any other server of the chat-completions protocol."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import deepcopy
from pathlib import PurePath
from typing import Any, Final

import msgspec

from forge.clients.attempt import Attempt
from forge.clients.constrained import WHITE_SPACE_CANDIDATES, constraint_fields
from forge.clients.credentials import call_headers, static_headers
from forge.clients.event_exchange import EventExchange
from forge.clients.llama_props import capabilities_of
from forge.clients.llama_server import LlamaServer
from forge.clients.model_client import ModelClient
from forge.clients.sampling import chosen_sampling
from forge.clients.transport import Timeouts
from forge.clients.urls import join, parse_url
from forge.core.capabilities import Capabilities
from forge.core.events import Delta, Finish, Started, TextDelta
from forge.core.request import Request
from forge.errors import BackendError, BackendUnreachableError
from forge.wire.backend_errors import echoed_output
from forge.wire.json_text import dumps
from forge.wire.openai import encode_request
from forge.wire.prompted import as_prompted
from forge.wire.template_demands import as_demanded

logger = logging.getLogger(__name__)

_MODES: Final = ("native", "prompt")


class LlamafileClient(ModelClient):
    """Talks to one llama-server (or llamafile, or other OpenAI-compatible server) and its model.

    ``gguf_path`` names the model: its stem is ``model`` and ``sampling_key``. ``base_url`` is an API base, taken
    literally. Sampling values are sent where a request has none of its own; ``recommended_sampling=True`` fills
    those not given from the published recommendations. ``mode="prompt"`` describes tools in the prompt; in
    ``native`` mode that happens too where the server says that its chat template knows no tools. ``timeout``
    (seconds) bounds the wait for the first byte and between bytes, not the whole answer; a ``Timeouts`` bounds each
    phase by itself. ``think=False`` keeps
    reasoning out of ``ToolCall.reasoning``.

    Raises:
        ValueError: ``mode`` is unknown.
        UnsupportedModelError: ``recommended_sampling=True`` and nothing is known for the model.
        MultipleCredentialsError: more than one of ``api_key``, ``extra_headers`` and the URL holds a credential.
        BackendUnreachableError: ``base_url`` is no http(s) URL.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        gguf_path: str | PurePath,
        base_url: str = "http://localhost:8080/v1",
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        repeat_penalty: float | None = None,
        presence_penalty: float | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        mode: str = "native",
        timeout: float | Timeouts | None = 300.0,
        think: bool | None = None,
        cache_prompt: bool = True,
        id_slot: int | None = None,
        recommended_sampling: bool = False,
        api_key: str = "",
        extra_headers: Mapping[str, str] | None = None,
        slot_id: int | None = None,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
        base = parse_url(base_url)
        super().__init__(base, static_headers(api_key, extra_headers, base), timeout=timeout, think=think)
        self.sampling_key = PurePath(gguf_path).name.removesuffix(".gguf").removesuffix(".llamafile")
        self.model = self.sampling_key
        self.mode = mode
        self.cache_prompt = cache_prompt
        self.id_slot = slot_id if id_slot is None else id_slot
        given = {
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
            "presence_penalty": presence_penalty,
            "chat_template_kwargs": chat_template_kwargs,
        }
        self.sampling = chosen_sampling(self.sampling_key, given, recommended=recommended_sampling)
        self._fields_before: dict[str, Any] = {}
        self._encoded_before: dict[str, bytes] = {}
        self._chat_url = join(base, "/chat/completions")
        self._server = LlamaServer(self._transport, self._base)

    async def get_context_length(self) -> int | None:
        """Tokens that one request may have, asked anew; None where the server does not say.

        Raises:
            ContextDiscoveryError: the server's answer cannot be read.
            BackendUnreachableError: nothing answers.
        """
        return await self._server.context_length(self._headers)

    async def count_tokens(self, text: str, *, headers: Mapping[str, str] | None = None) -> int | None:
        """Tokens of ``text``; see :meth:`forge.clients.backend.Tokenizer.count_tokens`."""
        return await self._server.count_tokens(text, call_headers(self._headers, headers, self._base))

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:
        """What ``/props`` says; a server without it counts as one with native tools."""
        return capabilities_of(await self._server.props(headers), native=self.mode == "native")

    def _able_at_once(self) -> Capabilities | None:
        server = self._server
        return capabilities_of(server.known, native=self.mode == "native") if server.asked else None

    @property
    def _slot(self) -> int:
        return self.id_slot or 0

    async def _attempt(self, request: Request, able: Capabilities, headers: Mapping[str, str]) -> Attempt:
        wire = request if able.native_tools else as_prompted(request)
        messages = as_demanded(wire.messages, able)
        if messages is not wire.messages:
            wire = msgspec.structs.replace(wire, messages=messages)
        tail = await self._constraint_fields(request, headers) if request.constraint is not None else {}
        body = encode_request(wire, defaults=self._defaults(), tail=tail)
        return EventExchange(
            transport=self._transport,
            url=self._chat_url,
            body=body,
            headers=headers,
            stream=request.stream,
        )

    def _answer_in(self, error: BackendError | BackendUnreachableError) -> list[Delta] | None:
        if isinstance(error, BackendUnreachableError):
            self._server.forget()
            return None
        # Old builds put what the model wrote into their error: it is an answer, to be read like any other.
        text = echoed_output(error)
        return None if text is None else [Started(), TextDelta(text), Finish(reason="stop")]

    def _defaults(self) -> dict[str, bytes]:
        fields: dict[str, Any] = dict(self.sampling)
        if self._server.is_llama_server:
            fields["cache_prompt"] = self.cache_prompt
        if self.id_slot is not None:
            fields["id_slot"] = self.id_slot
        fields["model"] = self.model
        if fields != self._fields_before:
            self._fields_before = deepcopy(fields)  # a value in it may be changed in place
            self._encoded_before = {name: dumps(value) for name, value in fields.items()}
        return self._encoded_before

    async def _constraint_fields(self, request: Request, headers: Mapping[str, str]) -> dict[str, bytes]:
        assert request.constraint is not None
        biased = bytes(request.options.get("logit_bias", msgspec.Raw(b"null"))) != b"null"
        banned = () if biased else await self._server.single_tokens(WHITE_SPACE_CANDIDATES, headers)
        fields, given_up = constraint_fields(request.constraint, banned, biased=biased)
        self._gave_up(given_up)
        return fields
