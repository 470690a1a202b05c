"""Client for Anthropic's Messages API, and for other servers that speak it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from forge.clients.attempt import Attempt, Batches
from forge.clients.base import TokenUsage
from forge.clients.credentials import credential_slots, static_headers
from forge.clients.event_exchange import ANTHROPIC, EventExchange
from forge.clients.model_client import ModelClient
from forge.clients.openai_compat import ALL_CHOICES
from forge.clients.retries import Retries
from forge.clients.thoughts import Thoughts
from forge.clients.transport import Timeouts
from forge.clients.urls import join, parse_url
from forge.core.capabilities import Capabilities
from forge.core.events import Usage
from forge.core.request import Request
from forge.errors import MissingCredentialError, MissingModelError
from forge.wire.anthropic import Defaults, VerbatimRequest, encode_request
from forge.wire.json_text import loads

OFFICIAL_ROOT: Final = "https://api.anthropic.com"
VERSION: Final = {"anthropic-version": "2023-06-01"}


class AnthropicClient(ModelClient):
    """Talks to Anthropic's API, or to a server that speaks its Messages protocol.

    ``model`` is sent with every request; None takes each request's own. ``api_key`` None reads
    ``ANTHROPIC_API_KEY``, or else ``ANTHROPIC_AUTH_TOKEN`` (as a bearer token); "" means none. ``base_url`` is the
    server's root; None reads ``ANTHROPIC_BASE_URL``, or else means the official one. ``max_tokens``, ``tool_choice``
    (one of the API's types, or its object) and ``thinking`` (the API's object) count where a request does not say.
    ``prompt_caching`` marks the end of tools and system prompt as cacheable. ``max_retries`` counts further tries
    after 408, 409, 429, 5xx or a lost connection, before anything was generated.

    A forced call is a ``tool_choice``, which cannot be combined with thinking: thinking wins. The same goes for
    sampling values that the API refuses beside ``thinking``; ``thinking`` itself is left out where its budget exceeds
    a request's ``max_tokens``. Calls whose ids come back get the signed thinking again that they came with.

    Raises:
        MultipleCredentialsError: more than one of ``api_key``, ``default_headers`` and the URL holds a credential.
        BackendUnreachableError: ``base_url`` is no http(s) URL.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        model: str | None,
        api_key: str | None = None,
        max_tokens: int = 4096,
        timeout: float | Timeouts | None = 300.0,
        max_retries: int = 3,
        tool_choice: str | Mapping[str, Any] | None = None,
        recommended_sampling: bool = False,  # noqa: ARG002 - the API's own defaults are the recommended ones
        base_url: str | None = None,
        prompt_caching: bool = False,
        thinking: Mapping[str, Any] | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> None:
        base = parse_url(base_url or os.environ.get("ANTHROPIC_BASE_URL") or OFFICIAL_ROOT)
        given = {**VERSION, **{name.lower(): value for name, value in (default_headers or {}).items()}}
        slot = "x-api-key"
        if api_key is None and not credential_slots(given) and base.user is None:
            api_key, slot = _from_environment()
        super().__init__(
            base,
            static_headers(api_key or "", given, base, slot=slot),
            timeout=timeout,
            retries=Retries(limit=max_retries),
        )
        self.model = model
        self._thoughts = Thoughts()
        self._official = base.host == parse_url(OFFICIAL_ROOT).host
        self._defaults = Defaults(
            max_tokens=max_tokens,
            thinking=thinking,
            tool_choice={"type": tool_choice} if isinstance(tool_choice, str) else tool_choice,
            prompt_caching=prompt_caching,
        )

    async def get_context_length(self) -> int | None:
        """Tokens that a prompt may have, as the official API says; None elsewhere.

        Raises:
            BackendUnreachableError: nothing answers.
        """
        if not self._official or not self.model:
            return None
        url = join(self._base, f"/v1/models/{self.model}")
        async with self._transport.open("GET", url, headers=self._headers) as incoming:
            body = await incoming.read()
            if incoming.status != 200:
                return None
        try:
            answer = loads(body)
        except ValueError:
            return None
        limit = answer.get("max_input_tokens") if isinstance(answer, dict) else None
        return limit if isinstance(limit, int) and limit > 0 else None

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:  # noqa: ARG002 - nothing is asked
        return Capabilities(
            tool_choice_modes=ALL_CHOICES,
            constrains=True,
            constrained_by="tool_choice",
            model=self.model,
            parallel_calls=True,
            reports_cached=True,
            thinking_by="thinking",
            reasoning_field="thinking",
        )

    async def _attempt(
        self,
        request: Request,
        able: Capabilities,  # noqa: ARG002 - always the same
        headers: Mapping[str, str],
    ) -> Attempt:
        if self._official and not credential_slots(headers):
            raise MissingCredentialError("Anthropic")
        if not self.model and not request.model and not isinstance(request, VerbatimRequest):
            raise MissingModelError
        body = encode_request(self._thoughts.returned(request), self._defaults, model=self.model)
        url = join(self._base, "/v1/messages")
        exchange = EventExchange(
            transport=self._transport,
            url=url,
            body=body,
            headers=headers,
            stream=request.stream,
            answers=ANTHROPIC,
        )
        return Batches(self._thoughts.noted(exchange.batches()))

    def _verbatim(self, body: dict[str, Any] | None, *, stream: bool) -> Request | None:
        return VerbatimRequest(messages=(), stream=stream, body=body) if body is not None else None

    def _token_usage(self, usage: Usage) -> TokenUsage:
        """As this API counts: tokens from or for the cache are not among ``prompt_tokens``."""
        return TokenUsage(
            prompt_tokens=usage.prompt_tokens - usage.cached_tokens - usage.cache_creation_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.prompt_tokens + usage.completion_tokens,
            cache_creation_input_tokens=usage.cache_creation_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )


def _from_environment() -> tuple[str, str]:
    """The key that the environment holds, and the header that it goes in. Never both: one credential per call."""
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    return (key, "x-api-key") if key else (os.environ.get("ANTHROPIC_AUTH_TOKEN", ""), "authorization")
