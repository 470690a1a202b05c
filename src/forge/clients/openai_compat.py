"""Client for any endpoint of the chat-completions protocol that is named by its model, hosted ones included."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from forge.clients.attempt import Attempt
from forge.clients.constrained import response_format
from forge.clients.credentials import static_headers
from forge.clients.event_exchange import EventExchange
from forge.clients.model_client import ModelClient
from forge.clients.retries import Retries
from forge.clients.sampling import chosen_sampling
from forge.clients.transport import Timeouts
from forge.clients.urls import join, parse_url
from forge.core.capabilities import Capabilities
from forge.core.request import Constraint, Request
from forge.wire.json_text import dumps
from forge.wire.openai import encode_request

logger = logging.getLogger(__name__)

ALL_CHOICES = frozenset({"auto", "none", "required", "named"})


class OpenAICompatClient(ModelClient):
    """Talks to one OpenAI-compatible endpoint.

    Every request goes out under ``model``. ``base_url`` is an API base (``https://host/v1``), taken literally.
    Sampling values are sent where a request has none of its own; an endpoint may refuse those that OpenAI does not
    know (``top_k``, ``min_p``, ``repeat_penalty``). ``timeout`` (seconds, or a ``Timeouts``) bounds the wait for the
    first byte and between bytes. ``max_retries`` counts further tries after a failure that passes by itself (429,
    5xx, no connection), before anything was generated.

    Raises:
        UnsupportedModelError: ``recommended_sampling=True`` and nothing is known for the model.
        MultipleCredentialsError: more than one of ``api_key``, ``extra_headers`` and the URL holds a credential.
        BackendUnreachableError: ``base_url`` is no http(s) URL.
    """

    def __init__(  # noqa: PLR0913 - the public contract
        self,
        model: str,
        base_url: str,
        *,
        api_key: str = "",
        extra_headers: Mapping[str, str] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        repeat_penalty: float | None = None,
        presence_penalty: float | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        timeout: float | Timeouts | None = 120.0,
        recommended_sampling: bool = False,
        think: bool | None = None,
        max_retries: int = 2,
    ) -> None:
        base = parse_url(base_url)
        super().__init__(
            base,
            static_headers(api_key, extra_headers, base),
            timeout=timeout,
            think=think,
            retries=Retries(limit=max_retries),
        )
        self._chat_url = join(base, "/chat/completions")
        self.model = model
        self.sampling_key = self._sampling_key(model)
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

    async def get_context_length(self) -> int | None:
        """None: the protocol has no way to ask."""
        return None

    def _sampling_key(self, model: str) -> str:
        return model

    async def _able(self, headers: Mapping[str, str]) -> Capabilities:  # noqa: ARG002 - nothing is asked
        """What the protocol promises. An endpoint that keeps less of it is corrected by the turn's own checks."""
        return Capabilities(
            tool_choice_modes=ALL_CHOICES,
            constrains=True,
            constrained_by="response_format",
            model=self.model,
            parallel_calls=True,
            reports_cached=True,
            thinking_by="reasoning_effort",
        )

    async def _attempt(self, request: Request, able: Capabilities, headers: Mapping[str, str]) -> Attempt:
        body = self._encoded(request, able)
        return EventExchange(
            transport=self._transport,
            url=self._chat_url,
            body=body,
            headers=headers,
            stream=request.stream,
        )

    def _encoded(self, request: Request, able: Capabilities) -> bytes:  # noqa: ARG002 - for subclasses
        tail = self._constrained(request.constraint) if request.constraint is not None else {}
        wire = msgspec.structs.replace(request, model=self.model)
        if tail and request.tools:
            # A forced call would be written under the tool parser's grammar instead of ours.
            wire = msgspec.structs.replace(wire, tool_choice=None)
            tail["tool_choice"] = b'"none"'
        return encode_request(wire, defaults=self._defaults(), tail=tail)

    def _defaults(self) -> dict[str, bytes]:
        return {name: dumps(value) for name, value in self.sampling.items()}

    def _constrained(self, constraint: Constraint) -> dict[str, bytes]:
        fields, given_up = response_format(constraint)
        self._gave_up(given_up)
        return fields
