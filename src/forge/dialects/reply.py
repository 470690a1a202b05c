"""What a reply is made of once it has been read: text, reasoning, calls and rejected candidates, in order."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from forge.core.calls import ToolCall

RejectReason: TypeAlias = Literal["unknown_tool", "unreadable", "cut_off"]


class TextSegment(Struct, frozen=True):
    """Text that the user should see."""

    text: str


class ReasoningSegment(Struct, frozen=True):
    """Thinking, without its tags."""

    text: str


class CallSegment(Struct, frozen=True):
    """A call of an offered tool with arguments that were read whole (``call.source`` says how).

    ``valid``: they fit the tool's schema, as they stand in ``call``.
    """

    call: ToolCall
    valid: bool = False


class RejectedSegment(Struct, frozen=True):
    """A call notation that gives no call: it names an unknown tool, cannot be read, or was cut off.

    To a user it is the text it was written as. To the engine it means that the model tried to call.
    ``name`` is the tool it asked for where that could be read, ``notation`` the name in the registry.
    """

    text: str
    reason: RejectReason
    notation: str
    name: str | None = None
    detail: str = ""


Segment: TypeAlias = TextSegment | ReasoningSegment | CallSegment | RejectedSegment


class Reply(Struct, frozen=True):
    """A reply, or the part of it that became certain with the last piece, as ordered segments."""

    segments: tuple[Segment, ...] = ()

    @property
    def calls(self) -> list[ToolCall]:
        """The calls, in the order in which they were written."""
        return [s.call for s in self.segments if isinstance(s, CallSegment)]

    @property
    def text(self) -> str:
        """What the user should still see; rejected candidates stay text, unaltered."""
        return "".join(s.text for s in self.segments if isinstance(s, TextSegment | RejectedSegment))

    @property
    def reasoning(self) -> str:
        """The thinking, blocks joined as they came."""
        return "".join(s.text for s in self.segments if isinstance(s, ReasoningSegment))

    @property
    def rejected(self) -> list[RejectedSegment]:
        """Candidates that gave no call."""
        return [s for s in self.segments if isinstance(s, RejectedSegment)]
