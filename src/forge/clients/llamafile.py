"""Client for llama-server and llamafile, and for any other server of the chat-completions protocol."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import PurePath
from typing import Any, Final, cast

import msgspec

from forge.clients.backend import Backend
from forge.clients.base import ChunkType, RawOpenAITools, StreamChunk, TokenUsage
from forge.clients.constrained import WHITE_SPACE_CANDIDATES, constraint_fields
from forge.clients.contract import ResponseCollector, build_request, token_usage
from forge.clients.credentials import call_headers, static_headers
from forge.clients.llama_props import capabilities_of
from forge.clients.llama_server import LlamaServer
from forge.clients.openai_exchange import exchange
from forge.clients.sampling_defaults import recommended_sampling as lookup_sampling
from forge.clients.transport import Timeouts, Transport
from forge.clients.urls import join, masked, parse_url
from forge.core.calls import LLMResponse
from forge.core.capabilities import Capabilities
from forge.core.events import Delta, Finish, Started, TextDelta
from forge.core.request import Request
from forge.errors import BackendError, BackendUnreachableError, UnsupportedModelError
from forge.wire.backend_errors import echoed_output
from forge.wire.json_text import dumps
from forge.wire.openai import encode_request
from forge.wire.prompted import as_prompted

logger = logging.getLogger(__name__)

_MODES: Final = ("native", "prompt")
_hinted: set[str] = set()


class LlamafileClient(Backend):
    """Talks to one llama-server (or llamafile, or other OpenAI-compatible server) and its model.

    ``gguf_path`` names the model: its stem is ``model`` and ``sampling_key``. ``base_url`` is an API base, taken
    literally. Sampling values are sent where a request has none of its own; ``recommended_sampling=True`` fills
    those not given from the published recommendations. ``mode="prompt"`` describes tools in the prompt; in
    ``native`` mode that happens too where the server says that its chat template knows no tools. ``timeout``
    (seconds) bounds the wait for the first byte and between bytes, not the whole answer. ``think=False`` keeps
    reasoning out of ``ToolCall.reasoning``.

    Raises:
        ValueError: ``mode`` is unknown.
        UnsupportedModelError: ``recommended_sampling=True`` and nothing is known for the model.
        MultipleCredentialsError: more than one of ``api_key``, ``extra_headers`` and the URL holds a credential.
        BackendUnreachableError: ``base_url`` is no http(s) URL.
    """

    api_format = "openai"

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
        timeout: float | None = 300.0,
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
        self.model: str | None = PurePath(gguf_path).name.removesuffix(".gguf").removesuffix(".llamafile")
        self.sampling_key = self.model
        self.mode = mode
        self.think = think
        self.cache_prompt = cache_prompt
        self.id_slot = slot_id if id_slot is None else id_slot
        self.last_usage: dict[int, TokenUsage] = {}
        self.rescued_tool_calls = 0
        given = {
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
            "presence_penalty": presence_penalty,
            "chat_template_kwargs": chat_template_kwargs,
        }
        self.sampling = _sampling(self.sampling_key, given, recommended=recommended_sampling)
        self._base = parse_url(base_url)
        self._headers = static_headers(api_key, extra_headers, self._base)
        self._transport = Transport(Timeouts(first_byte=timeout, between_bytes=timeout))
        self._server = LlamaServer(self._transport, self._base)

    @property
    def base_url(self) -> str:
        """The API base, without credentials."""
        return masked(str(self._base))

    # -- Backend ----------------------------------------------------------------------------------------------

    async def capabilities(self) -> Capabilities:
        """What ``/props`` says; a server without it counts as one with native tools."""
        return await self._able(self._headers)

    async def exchange(
        self, request: Request, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Delta]:
        """Run one turn; see :meth:`forge.clients.backend.Backend.exchange`."""
        sent = call_headers(self._headers, headers, self._base)
        able = await self._able(sent)
        constrained = await self._constraint_fields(request, sent)
        started = False
        try:
            async with aclosing(self._attempt(request, able, constrained, sent)) as batches:
                async for batch in batches:
                    for delta in batch:
                        started = True
                        yield delta
        except BackendError as error:
            if started or not constrained or not _blames_constraint(error):
                raise
            logger.warning(
                "%s refuses the constraint, so the attempt goes without it: %s", self.base_url, error
            )
        else:
            return
        async with aclosing(self._attempt(request, able, {}, sent)) as batches:
            async for batch in batches:
                for delta in batch:
                    yield delta

    # -- the public contract ------------------------------------------------------------------------------------

    async def send(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        sampling: dict[str, Any] | None = None,
        passthrough: dict[str, Any] | None = None,
        inbound_anthropic_body: dict[str, Any] | None = None,  # noqa: ARG002 - for clients of that protocol
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> LLMResponse:
        """The whole answer: calls, or text. Raises what :meth:`exchange` raises, and RequestError."""
        request = build_request(messages, tools, (passthrough, sampling), raw_openai_tools, stream=False)
        response: LLMResponse | None = None
        async for chunk in self._chunks(request, extra_headers):
            response = chunk.response if chunk.type is ChunkType.FINAL else response
        assert response is not None
        return response

    async def send_stream(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        sampling: dict[str, Any] | None = None,
        passthrough: dict[str, Any] | None = None,
        inbound_anthropic_body: dict[str, Any] | None = None,  # noqa: ARG002 - for clients of that protocol
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[StreamChunk]:
        """The answer in chunks; the last is FINAL and holds it whole."""
        request = build_request(messages, tools, (passthrough, sampling), raw_openai_tools, stream=True)
        async with aclosing(self._chunks(request, extra_headers)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _chunks(
        self, request: Request, headers: Mapping[str, str] | None
    ) -> AsyncGenerator[StreamChunk, None]:
        able = await self._able(call_headers(self._headers, headers, self._base))
        collector = ResponseCollector(request.tools, native=able.native_tools, think=self.think is not False)
        exchange_ = cast("AsyncGenerator[Delta, None]", self.exchange(request, headers=headers))
        async with aclosing(exchange_) as deltas:
            async for delta in deltas:
                chunk = collector.add(delta)
                if chunk is not None:
                    yield chunk
        if collector.usage is not None:
            self.last_usage[self.id_slot or 0] = token_usage(collector.usage)
        response = collector.response()
        self.rescued_tool_calls += collector.rescued
        yield StreamChunk(ChunkType.FINAL, response=response)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._transport.aclose()

    async def get_context_length(self) -> int | None:
        """Tokens that one request may have, asked anew; None where the server does not say.

        Raises:
            ContextDiscoveryError: the server's answer cannot be read.
            BackendUnreachableError: nothing answers.
        """
        return await self._server.context_length(self._headers)

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:
        return capabilities_of(await self._server.props(headers), native=self.mode == "native")

    # -- one attempt ------------------------------------------------------------------------------------------

    async def _attempt(
        self, request: Request, able: Capabilities, tail: Mapping[str, bytes], headers: Mapping[str, str]
    ) -> AsyncGenerator[list[Delta], None]:
        wire = request if able.native_tools else as_prompted(request)
        body = encode_request(wire, defaults=self._defaults(), tail=tail)
        answer = exchange(
            self._transport, join(self._base, "/chat/completions"), body, headers, stream=request.stream
        )
        try:
            async with aclosing(cast("AsyncGenerator[list[Delta], None]", answer)) as batches:
                async for batch in batches:
                    yield batch
        except BackendUnreachableError:
            self._server.forget()
            raise
        except BackendError as error:
            text = echoed_output(error)
            if text is None:
                raise
            # An old build put what the model wrote into its error: it is an answer, to be read like any other.
            yield [Started(), TextDelta(text), Finish(reason="stop")]

    def _defaults(self) -> dict[str, bytes]:
        fields: dict[str, Any] = dict(self.sampling)
        if self._server.is_llama_server:
            fields["cache_prompt"] = self.cache_prompt
        if self.id_slot is not None:
            fields["id_slot"] = self.id_slot
        fields["model"] = self.model
        return {name: dumps(value) for name, value in fields.items()}

    async def _constraint_fields(self, request: Request, headers: Mapping[str, str]) -> dict[str, bytes]:
        if request.constraint is None:
            return {}
        biased = bytes(request.options.get("logit_bias", msgspec.Raw(b"null"))) != b"null"
        banned = () if biased else await self._server.single_tokens(WHITE_SPACE_CANDIDATES, headers)
        fields, given_up = constraint_fields(request.constraint, banned, biased=biased)
        if given_up:
            logger.debug("the constraint leaves out: %s", "; ".join(given_up))
        return fields


def _blames_constraint(error: BackendError) -> bool:
    """Whether a refusal can come from the schema: a context that is too small, for one, cannot."""
    return error.status_code in (400, 422, 500, 501) and "exceed_context_size" not in error.body


def _sampling(model: str, given: Mapping[str, Any], *, recommended: bool) -> dict[str, Any]:
    values = {name: value for name, value in given.items() if value is not None}
    known = lookup_sampling(model)
    if not recommended:
        if known is not None and model not in _hinted:
            _hinted.add(model)
            logger.info("sampling is recommended for %s; recommended_sampling=True would use it", model)
        return values
    if known is None:
        raise UnsupportedModelError(model)
    return {**known, **values}
