"""Client for Ollama's own chat protocol."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from typing import ClassVar

import msgspec

from forge.clients.attempt import Attempt, Batches
from forge.clients.credentials import static_headers
from forge.clients.model_client import ModelClient
from forge.clients.ollama_server import ModelCard, OllamaServer
from forge.clients.prompt_cut import estimate_prompt, seems_cut
from forge.clients.sampling import chosen_sampling
from forge.clients.transport import Incoming, Timeouts
from forge.clients.urls import join, parse_url
from forge.core.capabilities import Capabilities
from forge.core.events import Delta, Usage
from forge.core.request import Request
from forge.errors import BackendError, ForgeError, MissingModelError, ThinkingNotSupportedError
from forge.schema.lower import call_schema
from forge.wire.json_text import is_json, loads
from forge.wire.ndjson import LineDecoder
from forge.wire.ollama import ObjectDecoder, effort, encode_request, thinking
from forge.wire.prompted import as_prompted

logger = logging.getLogger(__name__)

_THINKERS = ("reason", "think")
_KNOWS_LEVELS = "gpt-oss"
_NO_THINKING = "does not support thinking"
_NO_TOOLS = "does not support tools"


class OllamaClient(ModelClient):
    """Talks to one Ollama server and one of its models.

    ``model`` is an Ollama tag; a request that names its own model gets that. ``base_url`` is the server's root.
    Sampling values go where a request has none of its own. ``think`` switches thinking on or off (or names an
    effort); None switches it on for models that are named after it, where they can, and else leaves it to the
    server. A model whose template knows no tools gets them described in the prompt. ``truncate=False`` makes the
    server refuse a prompt that is too long instead of cutting it; without it a cut prompt is noticed afterwards,
    logged and counted in ``truncated_prompts``.

    Ollama ignores ``tool_choice``: a forced call is one whose answer is held to the calls' schema.

    Raises:
        UnsupportedModelError: ``recommended_sampling=True`` and nothing is known for the model.
        MultipleCredentialsError: more than one of ``api_key``, ``extra_headers`` and the URL holds a credential.
        BackendUnreachableError: ``base_url`` is no http(s) URL.
    """

    api_format: ClassVar[str] = "ollama"

    def __init__(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        model: str,
        base_url: str = "http://localhost:11434",
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        repeat_penalty: float | None = None,
        presence_penalty: float | None = None,
        timeout: float | Timeouts | None = 300.0,
        think: bool | str | None = None,
        recommended_sampling: bool = False,
        api_key: str = "",
        extra_headers: Mapping[str, str] | None = None,
        *,
        truncate: bool | None = None,
    ) -> None:
        base = parse_url(base_url)
        shown = think if think is None else bool(think)
        super().__init__(base, static_headers(api_key, extra_headers, base), timeout=timeout, think=shown)
        self.model = model
        self.sampling_key = model
        self.num_ctx: int | None = None
        self.truncated_prompts = 0
        self._thinking = think
        self._truncate = truncate
        given = {
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
            "presence_penalty": presence_penalty,
        }
        self.sampling = chosen_sampling(model, given, recommended=recommended_sampling)
        # Fields of other servers in the recommendations mean nothing here.
        self.sampling.pop("chat_template_kwargs", None)
        self._server = OllamaServer(self._transport, base)
        self._without_thinking: set[str] = set()
        self._without_tools: set[str] = set()

    def set_num_ctx(self, num_ctx: int | None) -> None:
        """Ask for a context of ``num_ctx`` tokens with every request; None leaves it to the server (often 4096).

        Ollama loads the model anew when the number changes.
        """
        self.num_ctx = num_ctx

    async def get_context_length(self) -> int | None:
        """The number set, else that of the model as it is loaded, else the one its parameters set, else None.

        Raises:
            BackendUnreachableError: nothing answers.
        """
        return await self._context_length(self._name(None), self._headers)

    # -- one attempt ------------------------------------------------------------------------------------------

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:
        """What ``/api/show`` says of the client's own model; a server that does not tell counts as able."""
        return await self._able_with(self.model, headers)

    async def _able_with(self, model: str | None, headers: Mapping[str, str]) -> Capabilities:
        card = await self._server.card(model, headers) if model else ModelCard()
        return Capabilities(
            native_tools=card.tools is not False and model not in self._without_tools,
            tool_choice_modes=frozenset({"auto", "none"}),
            constrains=True,
            constrained_by="format",
            context_length=self.num_ctx or card.context_length,
            model=model or None,
            parallel_calls=True,
            thinks=card.thinks,
            thinking_by="think",
            reasoning_field="thinking",
        )

    async def _attempt(self, request: Request, able: Capabilities, headers: Mapping[str, str]) -> Attempt:
        wire = msgspec.structs.replace(request, model=self._name(request.model))
        if wire.model != self.model:
            able = self._known(await self._able_with(wire.model, headers))
        body = self._encoded(wire if able.native_tools else as_prompted(wire), able)
        return Batches(self._chat(wire, body, headers))

    async def _chat(
        self, request: Request, body: bytes, headers: Mapping[str, str]
    ) -> AsyncGenerator[list[Delta], None]:
        url = join(self._base, "/api/chat")
        async with self._transport.open("POST", url, headers=headers, body=body) as incoming:
            if incoming.status >= 400:
                raise await incoming.error()
            async for batch in _read(incoming, stream=request.stream):
                for delta in batch:
                    if isinstance(delta, Usage):
                        await self._look_for_a_cut(request, delta, headers)
                yield batch

    def _encoded(self, request: Request, able: Capabilities) -> bytes:
        options = dict(self.sampling)
        if self.num_ctx is not None:
            options["num_ctx"] = self.num_ctx
        form = None
        if request.constraint is not None:
            lowered = call_schema(request.constraint.tools, longest_text=request.constraint.longest_text)
            form = lowered.schema
            self._gave_up(lowered.given_up)
        if self._truncate is not None and "truncate" not in request.options:
            raw = msgspec.Raw(b"true" if self._truncate else b"false")
            request = msgspec.structs.replace(request, options={**request.options, "truncate": raw})
        return encode_request(request, options=options, think=self._think_of(request, able), form=form)

    def _think_of(self, request: Request, able: Capabilities) -> bool | str | None:
        """What was asked for in Ollama's own terms counts as it is; a wish is dropped where the model cannot think."""
        asked = thinking(request)
        if asked is None:
            asked = self._thinking
        if asked is not None:
            return asked
        name = (request.model or "").lower()
        wish = effort(request)
        if wish is None and any(word in name for word in _THINKERS):
            wish = True
        if wish and (able.thinks is False or request.model in self._without_thinking):
            return None
        return True if isinstance(wish, str) and _KNOWS_LEVELS not in name else wish

    def _mended(self, request: Request, error: BackendError) -> Request | None:
        model = self._name(request.model)
        if _NO_THINKING in error.body:
            if self._thinking or thinking(request):
                raise ThinkingNotSupportedError(model, error.status_code, error.body) from error
            if model not in self._without_thinking:
                self._without_thinking.add(model)
                return request
        if _NO_TOOLS in error.body and request.tools and model not in self._without_tools:
            logger.warning("%s knows no tools, so they are described in the prompt", model)
            self._without_tools.add(model)
            return request
        return super()._mended(request, error)

    def _name(self, asked: str | None) -> str:
        name = asked or self.model
        if not name:
            raise MissingModelError
        return name

    # -- the context ------------------------------------------------------------------------------------------

    async def _context_length(self, model: str, headers: Mapping[str, str]) -> int | None:
        if self.num_ctx is not None:
            return self.num_ctx
        loaded = await self._server.loaded_context(model, headers)
        return loaded or (await self._server.card(model, headers)).context_length

    async def _look_for_a_cut(self, request: Request, usage: Usage, headers: Mapping[str, str]) -> None:
        """Ollama drops the oldest messages of a prompt that is too long, and does not say so."""
        estimated = estimate_prompt(request)
        if not seems_cut(estimated, usage.prompt_tokens, 0):
            return
        try:
            limit = _asked_context(request) or await self._context_length(self._name(request.model), headers)
        except ForgeError:
            limit = None
        if seems_cut(estimated, usage.prompt_tokens, limit):
            self.truncated_prompts += 1
            logger.warning(
                "Ollama cut the prompt: about %d tokens were sent, %d were read (context: %s); the model has not seen "
                "the rest. Set a larger context (set_num_ctx, OLLAMA_CONTEXT_LENGTH), or truncate=False to get an error",
                estimated,
                usage.prompt_tokens,
                limit or "unknown",
            )


async def _read(incoming: Incoming, *, stream: bool) -> AsyncGenerator[list[Delta], None]:
    objects = ObjectDecoder()
    if incoming.content_type == "application/json" or not (stream or "ndjson" in incoming.content_type):
        yield objects.feed(await incoming.read())
        objects.end()
        return
    lines = LineDecoder()
    while not objects.done and (piece := await incoming.next_piece()):
        batch: list[Delta] = []
        try:
            for line in lines.feed(piece):
                batch += objects.feed(line)
        except ForgeError:
            # What came before the error is part of the answer.
            yield batch
            raise
        yield batch
    if objects.done:
        await incoming.drain()
        return
    for line in filter(is_json, lines.finish()):
        yield objects.feed(line)
    objects.end()


def _asked_context(request: Request) -> int | None:
    for name in ("num_ctx", "options"):
        value = loads(bytes(request.options.get(name, msgspec.Raw(b"null"))))
        value = value.get("num_ctx") if isinstance(value, dict) else value
        if isinstance(value, int) and value > 0:
            return value
    return None
