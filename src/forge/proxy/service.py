"""What one running proxy holds: its settings, its policy, and its two roads to the backend."""

from __future__ import annotations

import msgspec

from forge.clients.backend import Backend
from forge.core.request import Request
from forge.engine.policy import Policy
from forge.proxy.courier import Courier
from forge.proxy.settings import Settings


class Service:
    """Shared by all requests of one proxy."""

    def __init__(self, settings: Settings, backend: Backend, courier: Courier) -> None:
        self.settings = settings
        self.backend = backend
        self.courier = courier
        self.policy = policy_of(settings)

    def with_model(self, request: Request) -> Request:
        """``request`` with the configured model where the caller named none."""
        if request.model is None and self.settings.model is not None:
            return msgspec.structs.replace(request, model=self.settings.model)
        return request

    def with_model_in_body(self, request: Request, body: bytes) -> bytes:
        """The caller's own bytes for the pass-through road, with the configured model put in if none was named."""
        if self.settings.model is None or request.model != self.settings.model:
            return body
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        if bytes(fields.get("model", b"null")) != b"null":
            return body
        return msgspec.json.encode({"model": self.settings.model} | fields | {"model": self.settings.model})

    async def aclose(self) -> None:
        """Close the connections to the backend."""
        await self.backend.aclose()
        await self.courier.aclose()


def policy_of(settings: Settings) -> Policy:
    """The engine's policy as the settings say it."""
    return Policy(
        max_retries=settings.max_retries,
        max_tool_errors=settings.max_tool_errors,
        text_policy=settings.text_policy,
        inject_respond_tool=settings.inject_respond_tool,
        rescue=settings.rescue,
        constrain=settings.constrain,
    )
