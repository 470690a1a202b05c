"""Signed thinking that callers have no place for, kept until the calls that it led to come back.

Anthropic wants a call in a conversation to come with the thinking before it, signature and all. Callers of its own
protocol send that back themselves; those of other protocols, and Forge's own workflows, only know the call's id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from forge.core.events import CallDelta, Delta, ReasoningDelta
from forge.core.request import Call, ChatMessage, Protocol, Reasoning, Request

_MOST = 512
"""Answers. A conversation needs those of its last calls; older ones only keep its beginning as it was cached."""


class Thoughts:
    """The thinking of the last answers that held calls, by the ids of these."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Reasoning, ...]] = OrderedDict()

    async def noted(self, batches: AsyncGenerator[list[Delta], None]) -> AsyncGenerator[list[Delta], None]:
        """``batches`` as they come, with the thinking in them kept."""
        thoughts: list[Reasoning] = []
        pieces: list[str] = []
        async with aclosing(batches):
            async for batch in batches:
                for delta in batch:
                    if isinstance(delta, ReasoningDelta):
                        pieces.append(delta.text)
                        if delta.signature or delta.redacted:
                            text = "" if delta.redacted else "".join(pieces)
                            thoughts.append(
                                Reasoning(text, signature=delta.signature, redacted=delta.redacted)
                            )
                            pieces.clear()
                    elif isinstance(delta, CallDelta) and delta.id and thoughts:
                        self._keep(delta.id, tuple(thoughts))
                yield batch

    def returned(self, request: Request) -> Request:
        """``request`` with the thinking put back that led to its calls."""
        if not self._known:
            return request
        messages = tuple(self._with_thoughts(message) for message in request.messages)
        return msgspec.structs.replace(request, messages=messages)

    def _with_thoughts(self, message: ChatMessage) -> ChatMessage:
        if message.protocol is Protocol.ANTHROPIC or message.role != "assistant":
            return message
        if any(isinstance(part, Reasoning) and (part.signature or part.redacted) for part in message.parts):
            return message
        calls = (part.id for part in message.parts if isinstance(part, Call))
        thoughts = next((self._known[call] for call in calls if call in self._known), ())
        # Rewritten, it is no longer the caller's bytes; those are of another protocol anyway.
        return msgspec.structs.replace(message, parts=(*thoughts, *message.parts)) if thoughts else message

    def _keep(self, call_id: str, thoughts: tuple[Reasoning, ...]) -> None:
        self._known[call_id] = thoughts
        self._known.move_to_end(call_id)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
