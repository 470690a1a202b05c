"""What was worked out for the beginnings of conversations: a client sends all of its history with each request.

The messages that two requests share are the same objects where their reader keeps them
(:mod:`forge.wire.conversations`), so a beginning that was seen before is found without comparing any content.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, takewhile
from operator import is_
from typing import Generic, TypeVar

from msgspec import Struct

from forge.core.request import Call, ChatMessage, Opaque, Part, Reasoning, Result, Text

T = TypeVar("T")

SHORTEST = 8
"""Messages. What a shorter beginning gives is worked out as fast as it is found."""
_MOST = 64
_MOST_BYTES = 4 * 1024 * 1024
_OVERHEAD = 256
"""Bytes that a message costs beside what is written in it, about."""


class Beginning(Struct, Generic[T], frozen=True):
    """The first messages of a conversation, what they gave, and about how many bytes they are."""

    messages: tuple[ChatMessage, ...]
    state: T
    size: int

    def begins(self, messages: tuple[ChatMessage, ...]) -> bool:
        """Whether ``messages`` begins with these very objects."""
        count = len(self.messages)
        return (
            count <= len(messages)
            and self.messages[-1] is messages[count - 1]
            and all(map(is_, self.messages, messages))
        )


class Beginnings(Generic[T]):
    """The beginnings of the conversations that were last seen, within bounds on their number and size.

    May be used by several threads: its state is one tuple, replaced as a whole.
    """

    def __init__(self) -> None:
        self._known: tuple[Beginning[T], ...] = ()

    def find(self, messages: tuple[ChatMessage, ...]) -> Beginning[T] | None:
        """The longest known beginning of ``messages``; none that is shorter than ``SHORTEST`` is ever kept."""
        if len(messages) < SHORTEST:
            return None
        found = (known for known in self._known if known.begins(messages))
        return max(found, key=lambda known: len(known.messages), default=None)

    def remember(
        self, known: Beginning[T] | None, messages: tuple[ChatMessage, ...], state: Callable[[], T]
    ) -> None:
        """Keep ``messages`` with what they gave, in place of the beginning that is ``known`` of them."""
        if len(messages) < SHORTEST:
            return
        newest = known
        if known is None or len(known.messages) < len(messages):
            new = messages[len(known.messages) :] if known is not None else messages
            size = sum(map(_size, new)) + (known.size if known is not None else 0)
            if size > _MOST_BYTES:
                return
            newest = Beginning(messages, state(), size)
        assert newest is not None
        kept = [newest, *(one for one in self._known if one is not known)][:_MOST]
        sizes = accumulate(one.size for one in kept)
        within = takewhile(lambda total: total <= _MOST_BYTES, sizes)
        self._known = tuple(one for one, _ in zip(kept, within, strict=False))


def _size(message: ChatMessage) -> int:
    if message.raw is not None:
        return _OVERHEAD + len(message.raw)
    return _OVERHEAD + sum(map(_written, message.parts))


def _written(part: Part) -> int:
    match part:
        case Call():
            return len(part.arguments)
        case Result():
            return len(part.content)
        case Opaque():
            return len(part.raw)
        case Reasoning():
            return len(part.text) + len(part.signature) + len(part.redacted)
        case Text():
            return len(part.text)
