"""Collects the deltas of one attempt: text through the reply scanner, structured calls by index, the rest as is."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from forge.core.calls import ToolCall
from forge.core.events import CallDelta, Finish, ReasoningDelta, Started, Usage
from forge.core.pieces import joined
from forge.core.request import Reasoning
from forge.dialects import ReplyScanner
from forge.dialects.reply import CallSegment, RejectedSegment, Segment, TextSegment
from forge.engine.constrained import ConstrainedReader
from forge.engine.offer import Offer
from forge.engine.respond import WrittenRespond
from forge.engine.runaway import next_text_bound
from forge.engine.usage import add_usage


class WrittenCall(Struct, kw_only=True):
    """A call as the model made it. ``arguments`` is JSON text for a structured call, a decoded value otherwise.

    ``valid``: its tool is offered under this very name, and its arguments were found to fit the schema.
    """

    name: str
    arguments: Any
    id: str | None = None
    notation: str = "native"
    parsed: ToolCall | None = None
    valid: bool = False


class Answer:
    """One attempt's answer as far as it has come.

    ``segments`` are the parts of its text in order. Without a scanner (rescue off, or nothing to call) all text
    is a text segment.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        scan: bool,
        constrained: bool = False,
        longest_text: int | None = None,
    ) -> None:
        self.constrained = (
            ConstrainedReader(offer.functions, longest_text=longest_text) if constrained else None
        )
        self._bounded_anew = longest_text is not None
        self._offer = offer
        self._scans = scan
        self._scanner: ConstrainedReader | ReplyScanner | None = self.constrained
        self._native: dict[int, WrittenCall] = {}
        self._arguments: dict[int, list[str]] = {}  # pieces: adding them up as they come would be quadratic
        self.segments: list[Segment] = []
        self.raw_text: list[str] = []
        self.respond = self.constrained.respond if self.constrained else WrittenRespond()
        self.thinks = False
        self.has_blocks = False
        """Whether it has parts that only the backend's protocol knows: without text it is still not empty."""
        self.refuses = False
        """Whether it says in a field of its own that it will not answer."""
        self.beside: list[dict[str, Any]] = []
        """What came beside texts (logprobs, a refusal) and did not go out with one yet."""
        self.signed: list[Reasoning] = []
        """Signed blocks of thinking, up to the first that follows a text: with these the answer began."""
        self._block: list[str] = []
        self.started: Started | None = None
        self.usage: Usage | None = None
        self.finish: Finish | None = None

    def feed_text(self, piece: str) -> tuple[Segment, ...]:
        """Take a piece of text; return the segments that became certain."""
        self.raw_text.append(piece)
        if self._scanner is None and self._scans:
            # Only now: many an answer is a structured call and no text at all.
            self._scanner = ReplyScanner(self._offer.toolbox)
        segments = self._scanner.feed(piece).segments if self._scanner else (TextSegment(piece),)
        self.segments.extend(segments)
        return segments

    def feed_beside(self, fields: dict[str, Any]) -> None:
        """Take what came beside a piece of text; it goes out with the next text that does."""
        self.beside.append(fields)
        refusal = (fields.get("delta") or {}).get("refusal")
        self.refuses = self.refuses or bool(refusal)

    def take_beside(self) -> dict[str, Any]:
        """What came beside texts since this was last asked."""
        beside, self.beside = self.beside, []
        return joined(beside) if len(beside) != 1 else beside[0]

    def end_text(self) -> tuple[Segment, ...]:
        """The text is over; return what was still held back."""
        cut = self.finish is not None and self.finish.reason == "length"
        segments = self._scanner.finish(cut=cut).segments if self._scanner else ()
        self.segments.extend(segments)
        return segments

    def feed_block(self) -> tuple[Segment, ...]:
        """A part of another kind stands between two texts: return what was still held back of the first."""
        self.has_blocks = True
        segments = self.end_text() if self._scanner is not self.constrained else ()
        self._scanner = self.constrained
        return segments

    def feed_reasoning(self, delta: ReasoningDelta) -> None:
        """Take a piece of thinking; only signed blocks are kept, since nobody asks for the others again."""
        self.thinks = True
        self._block.append(delta.text)
        if not delta.signature and not delta.redacted:
            return
        text = "" if delta.redacted else "".join(self._block)
        self._block.clear()
        if not self.raw_text:
            self.signed.append(Reasoning(text, delta.field, delta.signature, delta.redacted))

    def feed_usage(self, usage: Usage) -> None:
        """Take a part of what the answer cost."""
        self.usage = add_usage(self.usage, usage)

    def feed_call(self, delta: CallDelta) -> WrittenCall:
        """Take a piece of a structured call and return the call, whose arguments are not put together yet."""
        call = self._native.get(delta.index)
        if call is None:
            call = self._native[delta.index] = WrittenCall(name="", arguments="")
            self._arguments[delta.index] = []
        call.id = call.id or delta.id
        call.name += delta.name or ""
        self._arguments[delta.index].append(delta.arguments)
        return call

    @property
    def begun(self) -> bool:
        """Whether any delta was taken."""
        return bool(
            self.started
            or self.usage
            or self.finish
            or self.raw_text
            or self._native
            or self.thinks
            or self.has_blocks
        )

    @property
    def text(self) -> str:
        """The visible text, rejected candidates included."""
        return "".join(s.text for s in self.segments if isinstance(s, TextSegment | RejectedSegment))

    @property
    def plain_text(self) -> str:
        """The visible text without rejected candidates."""
        return "".join(s.text for s in self.segments if isinstance(s, TextSegment))

    @property
    def rejected(self) -> list[RejectedSegment]:
        """Call notations that gave no call."""
        return [s for s in self.segments if isinstance(s, RejectedSegment)]

    @property
    def native_calls(self) -> list[WrittenCall]:
        """The structured calls in the order of their index."""
        native = self._native
        if not native:
            return []
        for index, pieces in self._arguments.items():
            native[index].arguments = pieces[0] if len(pieces) == 1 else "".join(pieces)
        return [native[index] for index in sorted(native)]

    @property
    def calls(self) -> list[WrittenCall]:
        """All calls: structured ones first, then those written as text, in order.

        A call that the backend delivered structured and that also stands in the text is one call.
        """
        native = self.native_calls
        parsed = [s for s in self.segments if isinstance(s, CallSegment)]
        if not parsed:
            return native
        given: dict[str, list[object]] = {}
        for call in native:
            given.setdefault(call.name, []).append(_decoded(call.arguments))
        return native + [
            WrittenCall(
                name=found.call.tool,
                arguments=found.call.args,
                id=found.call.id,
                notation=found.call.source.notation if found.call.source else "text",
                parsed=found.call,
                valid=found.valid,
            )
            for found in parsed
            if found.call.args not in given.get(found.call.tool, ())
        ]

    @property
    def in_our_form(self) -> bool:
        """Whether its text is in the form that a constraint asks for: nothing to show to a user.

        A server that ignores the constraint lets the model write whatever it likes, and that is the model's answer.
        """
        return self.constrained is not None and "".join(self.raw_text).lstrip().startswith("{")

    @property
    def shows_nothing(self) -> bool:
        """Whether a constrained answer has no text for the user, nor has begun one."""
        return (
            self.constrained is not None
            and not self.constrained.inside_respond
            and not self.plain_text.strip()
        )

    @property
    def has_cut_call(self) -> bool:
        """Whether the last structured call's arguments are not whole JSON."""
        native = self.native_calls
        try:
            json.loads(native[-1].arguments or "{}") if native else None
        except (ValueError, RecursionError):
            return True
        return False

    @property
    def next_text_bound(self) -> int | None:
        """The bound on texts with which a constrained call that did not fit is asked for again, once."""
        constrained = self.constrained
        if constrained is None or self._bounded_anew or constrained.inside_respond:
            return None
        return next_text_bound(
            "".join(self.raw_text),
            cut_by_token_limit=self.finish is not None and self.finish.reason == "length",
            cut_by_bound=constrained.cut_by_bound,
        )

    @property
    def finish_reason(self) -> str:
        """The backend's finish reason ("stop" when the stream did not say); ``length`` also where our bound cut."""
        if self.constrained is not None and self.constrained.cut_by_bound:
            return "length"
        return self.finish.reason if self.finish else "stop"


def _decoded(arguments: str) -> object:
    """Arguments as a value; what cannot be read equals no value at all."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return object()
