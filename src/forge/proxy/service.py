"""What one running proxy holds: its settings, its policy, and its two roads to the backend."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import msgspec

from forge.clients.backend import Backend
from forge.clients.credentials import relocated
from forge.core.capabilities import Capabilities
from forge.core.request import Protocol, Request
from forge.engine.policy import Policy
from forge.errors import ForgeError
from forge.proxy.backends import KINDS
from forge.proxy.body import Bodies
from forge.proxy.closing import Closing
from forge.proxy.courier import Courier
from forge.proxy.gate import Head
from forge.proxy.overrides import BODY_FIELD
from forge.proxy.readiness import Readiness
from forge.proxy.settings import Settings
from forge.proxy.slots import Slots
from forge.proxy.usage_board import UsageBoard
from forge.wire.anthropic import as_openai, own_messages
from forge.wire.openai import mended_messages, top_level_fields
from forge.wire.template_demands import as_demanded

_log = logging.getLogger("forge.proxy")
_MOST_NAMED = 256
_LONGEST_NAME = 64


class Service:
    """Shared by all requests of one proxy."""

    def __init__(self, settings: Settings, backend: Backend, courier: Courier) -> None:
        self.settings = settings
        self.backend = backend
        self.courier = courier
        self.policy = policy_of(settings)
        self.kind = KINDS[settings.kind]
        self._named: set[str] = set()
        self._mended: set[str] = set()
        self.closing = Closing()
        self.usage = UsageBoard(settings)
        self.readiness = Readiness(courier)
        limits = settings.limits
        self.bodies = Bodies(limits)
        self.slots = Slots(settings.at_once, queue=limits.queue, wait_seconds=limits.queue_seconds)

    def with_model(self, request: Request) -> Request:
        """``request`` with the configured model where the caller named none."""
        if request.model is None and self.settings.model is not None:
            return msgspec.structs.replace(request, model=self.settings.model)
        return request

    def suited(self, request: Request) -> Request:
        """``request`` in the terms of the backend's protocol. What has none there is named in the log, once."""
        own = self.kind.protocol
        if request.protocol is Protocol.ANTHROPIC is not own:
            converted = as_openai(request, self.kind.thinking)
            self._name(converted.unsupported)
            request = converted.request
        self._name(self.kind.unsupported(request))
        return request

    def note_mended(self, kinds: Iterable[str]) -> None:
        """Say in the log what was put right in a caller's history: once for each kind, since histories come again."""
        for kind in kinds:
            if kind not in self._mended:
                self._mended.add(kind)
                _log.info("put right in a caller's history: %s", kind)

    def _name(self, fields: Iterable[str]) -> None:
        new = [*fields]
        if not new:
            return
        # Some names hold a caller's own words: they are cut, and so is their number.
        new = [name[:_LONGEST_NAME] for name in new]
        new = [name for name in new if name not in self._named][: _MOST_NAMED - len(self._named)]
        if new:
            self._named.update(new)
            _log.info("left out, since a backend of kind %s has nothing for it: %r", self.settings.kind, new)

    async def forwarded_body(self, request: Request, body: bytes, *, changed: bool = False) -> bytes:
        """The caller's own bytes for the pass-through road; changed in them is only what the backend would refuse.

        That is the model, where it must be given another one, and earlier calls whose arguments are not JSON. Where
        ``request`` is ``changed`` its messages are sent, and nothing of what the body says to Forge alone.

        Raises:
            ForgeError: the backend only knows its own model, and cannot be asked for its name.
        """
        model = self.settings.model
        pinned = self.kind.names_its_model or request.protocol is Protocol.ANTHROPIC
        if self.kind.names_its_model:
            model = (await self.backend.capabilities()).model
        elif not pinned and request.model != model:
            model = None
        if request.protocol is Protocol.ANTHROPIC:
            messages = own_messages(request.messages) if changed else None
        else:
            shaped = as_demanded(request.messages, await self._able())
            messages = mended_messages(shaped, always=changed or shaped != request.messages)
        if model is None and messages is None:
            return body
        fields = top_level_fields(body)
        given = dict(fields)
        fields.pop(BODY_FIELD, None)
        if messages is not None:
            fields["messages"] = msgspec.Raw(messages)
        named = bytes(fields.get("model", b"null"))
        if model is not None and (named == b"null" or pinned):
            fields = {"model": msgspec.Raw(msgspec.json.encode(model))} | fields
            fields["model"] = msgspec.Raw(msgspec.json.encode(model))
        return body if fields == given else msgspec.json.encode(fields)

    async def _able(self) -> Capabilities:
        """What the backend can do, where it shows its template; if it cannot be asked, the request will show why."""
        if not self.kind.shows_template:
            return Capabilities()
        try:
            return await self.backend.capabilities()
        except ForgeError:
            return Capabilities()

    def headers(self, head: Head, slot: str) -> Mapping[str, str]:
        """What of a request's head the backend gets: its credential, and what else its protocol has headers for."""
        credentials = self.credentials(head.credentials, slot)
        if self.kind.protocol is not Protocol.ANTHROPIC or not head.anthropic:
            return credentials
        return {**credentials, **head.anthropic}

    def credentials(self, given: Mapping[str, str], slot: str) -> Mapping[str, str]:
        """The caller's credentials as the backend takes them; ``slot`` is where the caller's protocol has them."""
        return given if slot == self.kind.key_slot else relocated(given, self.kind.key_slot)

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
        reasoning_replay=settings.reasoning_replay,
        loop_limit=settings.loop_limit,
        workflows=settings.workflows,
    )
