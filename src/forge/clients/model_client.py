"""What all clients share: one connection pool, its credentials, and the public contract over one way to run a turn."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar, cast

import msgspec
from yarl import URL

from forge.clients.attempt import Attempt, Take
from forge.clients.backend import Backend, Host
from forge.clients.base import ChunkType, RawOpenAITools, StreamChunk, TokenUsage
from forge.clients.contract import ResponseCollector, build_request, token_usage
from forge.clients.credentials import call_headers
from forge.clients.refused_fields import without_refused
from forge.clients.retries import Retries
from forge.clients.transport import Timeouts, Transport
from forge.clients.urls import masked
from forge.core.calls import LLMResponse
from forge.core.capabilities import Capabilities
from forge.core.events import Delta, Usage
from forge.core.request import Request
from forge.errors import BackendError, BackendUnreachableError

logger = logging.getLogger(__name__)

# A request may itself be what a server dies of: it is not sent to every server that follows.
_MOST_RECOVERIES = 2
_MOST_TOLD = 1000
_MOST_SHOWN = 20


class _Call:
    """One call and what became of it so far. ``request`` is that of the next attempt.

    ``answered``: something of the answer was given out, so that no other attempt can follow.
    """

    __slots__ = ("answered", "generation", "recoveries", "request", "tries")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answered = False
        self.generation = self.tries = self.recoveries = 0


class ModelClient(Backend):
    """One server and its model.

    A subclass says what the backend can do (``_able``) and runs one attempt (``_attempt``). What is worth another
    attempt is decided here: without a constraint that the server refuses, with what was learned from a refusal
    (``_mended``), or later where a failure passes by itself (``Retries``); never once a delta was given out.
    """

    api_format: ClassVar[str] = "openai"

    def __init__(
        self,
        base: URL,
        headers: Mapping[str, str],
        *,
        timeout: float | Timeouts | None,
        think: bool | None = None,
        retries: Retries | None = None,
    ) -> None:
        self.model: str | None = None
        self.think = think
        self.last_usage: dict[int, TokenUsage] = {}
        self.rescued_tool_calls = 0
        self._base = base
        self._headers = dict(headers)
        self._retries = retries or Retries()
        self._host: Host | None = None
        self._latest: Capabilities | None = None
        self._shown: set[Capabilities] = set()
        self._told: set[str] = set()
        if not isinstance(timeout, Timeouts):
            timeout = Timeouts(first_byte=timeout, between_bytes=timeout)
        self._transport = Transport(timeout)

    @property
    def base_url(self) -> str:
        """The URL that the client was given, without credentials."""
        return masked(str(self._base))

    def hosted_by(self, host: Host | None) -> None:
        """Let calls wait for ``host`` while it starts the server anew; a call that its death stopped is repeated."""
        self._host = host

    # -- Backend ----------------------------------------------------------------------------------------------

    async def capabilities(self) -> Capabilities:
        """What the backend can do, asked of it on first use where it can tell."""
        able = self._able_at_once() if self._host is None else None
        return await self._reached(self._headers) if able is None else self._known(able)

    async def exchange(
        self, request: Request, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Delta]:
        """Run one turn; see :meth:`forge.clients.backend.Backend.exchange`."""
        exchange = cast("AsyncGenerator[list[Delta], None]", self.batches(request, headers=headers))
        async with aclosing(exchange) as batches:
            async for batch in batches:
                for delta in batch:
                    yield delta

    async def batches(
        self, request: Request, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[Delta]]:
        """Run one turn; see :meth:`forge.clients.backend.Backend.batches`."""
        sent = call_headers(self._headers, headers, self._base)
        call = _Call(request)
        while True:
            call.generation = await self._arrive()
            try:
                able = self._known(self._able_at_once() or await self._able(sent))
                attempt = await self._attempt(call.request, able, sent)
                async with aclosing(attempt.batches()) as batches:
                    async for batch in batches:
                        call.answered = call.answered or bool(batch)
                        yield batch
            except (BackendError, BackendUnreachableError) as error:
                hidden = await self._after(call, error)
                if hidden is None:
                    continue
                yield hidden
            return

    async def deliver(
        self, request: Request, take: Take, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Run one turn; see :meth:`forge.clients.backend.Backend.deliver`."""
        sent = call_headers(self._headers, headers, self._base)
        call = _Call(request)

        def note(batch: list[Delta]) -> None:
            call.answered = call.answered or bool(batch)
            take(batch)

        while True:
            if self._host is not None:
                call.generation = await self._arrive()
            try:
                able = self._known(self._able_at_once() or await self._able(sent))
                await (await self._attempt(call.request, able, sent)).deliver(note)
            except (BackendError, BackendUnreachableError) as error:
                hidden = await self._after(call, error)
                if hidden is None:
                    continue
                take(hidden)
            return

    async def _after(self, call: _Call, error: BackendError | BackendUnreachableError) -> list[Delta] | None:
        """What follows from a failed attempt: the answer, where the failure itself holds it; None: another attempt.

        Raises:
            BackendError, BackendUnreachableError: ``error`` itself, where no other attempt is worth it.
        """
        hidden = self._answer_in(error)
        if hidden is not None:
            return hidden
        if call.answered:
            raise error
        if call.recoveries < _MOST_RECOVERIES and await self._came_back(error, call.generation):
            call.recoveries += 1
            return None
        mended = self._mended(call.request, error) if isinstance(error, BackendError) else None
        if mended is not None:
            call.request = mended
            return None
        delay = self._retries.delay(error, call.tries)
        if delay is None:
            raise error
        call.tries += 1
        logger.warning("%s; trying again in %.1f s", error, delay)
        await asyncio.sleep(delay)
        return None

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._transport.aclose()

    async def _reached(self, headers: Mapping[str, str]) -> Capabilities:
        generation = await self._arrive()
        try:
            return self._known(await self._able(headers))
        except BackendUnreachableError as error:
            if not await self._came_back(error, generation):
                raise
        return self._known(await self._able(headers))

    def _known(self, able: Capabilities) -> Capabilities:
        """``able``, which the log shows once; while it is the same, it is the very same object."""
        latest = self._latest
        if latest is not None and (able is latest or able == latest):
            return latest
        if able not in self._shown and len(self._shown) < _MOST_TOLD:
            logger.info("backend at %s: %s", self.base_url, able.described())
            self._shown.add(able)
        self._latest = able
        return able

    async def _arrive(self) -> int:
        """Wait for a server that is being started anew; which one it is."""
        if self._host is None:
            return 0
        await self._host.ready()
        return self._host.generation

    async def _came_back(self, error: BackendError | BackendUnreachableError, generation: int) -> bool:
        """Whether a call failed because its server died, and another one runs now."""
        if self._host is None or not isinstance(error, BackendUnreachableError):
            return False
        return await self._host.recovered(generation)

    @abstractmethod
    async def _able(self, headers: Mapping[str, str]) -> Capabilities:
        """The capabilities, asked with these headers."""

    def _able_at_once(self) -> Capabilities | None:
        """The capabilities, where nobody has to be asked any more; awaiting them costs more."""
        return None

    @abstractmethod
    async def _attempt(self, request: Request, able: Capabilities, headers: Mapping[str, str]) -> Attempt:
        """One call, ready to be made."""

    def _gave_up(self, notes: Iterable[str]) -> None:
        """The log tells once what a constraint leaves out: the calls are checked against the whole schema anyway."""
        new = [note for note in dict.fromkeys(notes) if note not in self._told]
        if not new:
            return
        if len(self._told) < _MOST_TOLD:
            self._told.update(new)
        logger.info(
            "what constrained decoding at %s cannot enforce, and is checked afterwards: %s",
            self.base_url,
            "; ".join(new[:_MOST_SHOWN]) + ("; and more" if len(new) > _MOST_SHOWN else ""),
        )

    def _answer_in(self, error: BackendError | BackendUnreachableError) -> list[Delta] | None:  # noqa: ARG002
        """Learn from a failed call. The deltas, where the failure itself holds what the model wrote."""
        return None

    def _mended(self, request: Request, error: BackendError) -> Request | None:
        """The request to send at once instead of the refused one, or None where another would be refused too."""
        other = without_refused(request, error)
        if other is not None:
            logger.debug("%s refuses a field, so the request goes without it: %s", self.base_url, error)
            return other
        if request.constraint is None or not blames_constraint(error):
            return None
        logger.warning("%s refuses the constraint, so the attempt goes without it: %s", self.base_url, error)
        return msgspec.structs.replace(request, constraint=None)

    # -- the public contract ------------------------------------------------------------------------------------

    async def send(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        sampling: dict[str, Any] | None = None,
        passthrough: dict[str, Any] | None = None,
        inbound_anthropic_body: dict[str, Any] | None = None,
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> LLMResponse:
        """The whole answer: calls, or text. Raises what :meth:`exchange` raises, and RequestError."""
        request = self._verbatim(inbound_anthropic_body, stream=False) or build_request(
            messages, tools, (passthrough, sampling), raw_openai_tools, stream=False
        )
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
        inbound_anthropic_body: dict[str, Any] | None = None,
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[StreamChunk]:
        """The answer in chunks; the last is FINAL and holds it whole."""
        request = self._verbatim(inbound_anthropic_body, stream=True) or build_request(
            messages, tools, (passthrough, sampling), raw_openai_tools, stream=True
        )
        async with aclosing(self._chunks(request, extra_headers)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _chunks(
        self, request: Request, headers: Mapping[str, str] | None
    ) -> AsyncGenerator[StreamChunk, None]:
        able = await self._reached(call_headers(self._headers, headers, self._base))
        collector = ResponseCollector(request.tools, native=able.native_tools, think=self.think is not False)
        exchange = cast("AsyncGenerator[list[Delta], None]", self.batches(request, headers=headers))
        async with aclosing(exchange) as batches:
            async for batch in batches:
                for delta in batch:
                    chunk = collector.add(delta)
                    if chunk is not None:
                        yield chunk
        if collector.usage is not None:
            self.last_usage[self._slot] = self._token_usage(collector.usage)
        response = collector.response()
        self.rescued_tool_calls += collector.rescued
        yield StreamChunk(ChunkType.FINAL, response=response)

    @property
    def _slot(self) -> int:
        return 0

    def _token_usage(self, usage: Usage) -> TokenUsage:
        return token_usage(usage)

    def _verbatim(self, body: dict[str, Any] | None, *, stream: bool) -> Request | None:  # noqa: ARG002
        """The request that sends a body of the Anthropic protocol as it is; None in clients of another one."""
        return None


def blames_constraint(error: BackendError) -> bool:
    """Whether a refusal can come from the schema: a context that is too small, for one, cannot."""
    return error.status_code in (400, 422, 500, 501) and "exceed_context_size" not in error.body
