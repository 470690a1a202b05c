"""A candidate: text that may be a call, being read. It collects what the reader finds and decides what is shown."""

from __future__ import annotations

from typing import NamedTuple

from forge.core.calls import CallSource, ToolCall
from forge.core.ledger import Fix
from forge.core.request import Tool
from forge.dialects.context import Context, has_placeholder
from forge.dialects.cursor import Cursor, Need
from forge.dialects.literals import Literals
from forge.dialects.repeats import Repeats
from forge.dialects.reply import (
    CallSegment,
    ReasoningSegment,
    RejectedSegment,
    RejectReason,
    Segment,
    TextSegment,
)
from forge.dialects.tape import Tape
from forge.dialects.toolbox import Toolbox
from forge.schema.arguments import read_arguments

_PATIENCE = 3
"""After more failed calls in a row within one notation the rest of it is not looked at."""


class Found(NamedTuple):
    """A call as it was written: the tool it means and its arguments before they are typed.

    ``text_values`` is set for notations whose values are plain text (XML elements): the schema types them.
    """

    tool: Tool
    raw: object
    text_values: bool = False
    fixes: tuple[Fix, ...] = ()


class Missed(NamedTuple):
    """A call that cannot be made: see :class:`RejectedSegment`."""

    reason: RejectReason
    name: str | None = None
    detail: str = ""


class Candidate(Cursor):
    """The text from ``start`` on, while one notation's reader works on it.

    Nothing leaves before the reader says so: :meth:`flush` makes what was found so far final,
    :meth:`show` and :meth:`think` release text. ``done`` is the offset up to which everything is final.
    """

    __slots__ = (
        "_example",
        "_made",
        "_pending",
        "_waiting",
        "context",
        "done",
        "hold",
        "notation",
        "out",
        "quotable",
        "repeats",
        "start",
        "written_out",
    )

    def __init__(self, tape: Tape, start: int, tools: Toolbox, context: Context, repeats: Repeats) -> None:
        self.tape = tape  # not by super(): a candidate is made for every opener
        self.pos = self.reach = start
        self.tools = tools
        self.start = start
        self.done = start
        self.context = context
        self.repeats = repeats
        self.notation = ""
        self.quotable = True
        self.written_out = False
        self.hold = False
        """Nothing is final before the whole candidate is."""
        self._example: bool | None = None
        self.out: list[Segment] = []
        self._pending: list[Segment] = []
        self._made = 0
        self._waiting = 0  # calls among what is pending

    @property
    def example(self) -> bool:
        """Whether the text around says that this is no real call: it is read, then shown as it was written."""
        if self._example is None:
            context = self.context
            self._example = self.quotable and (
                context.refused == self.notation or context.example(written_out=self.written_out)
            )
        return self._example

    def found(self, call: Found, start: int) -> None:
        """A call was read whole from ``start`` up to here."""
        compiled = self.tools.compiled(call.tool)
        checked = read_arguments(call.tool, call.raw, text_values=call.text_values, compiled=compiled)
        if not checked.complete:
            self.missed(Missed("cut_off", call.tool.name), start)
            return
        if has_placeholder(checked.value) and not self._made:
            self._example = True
        source = CallSource(self.notation, (start, self.pos), (*call.fixes, *checked.fixes))
        self._waiting += 1
        self._pending.append(
            CallSegment(ToolCall(call.tool.name, checked.value, source=source), checked.valid)
        )

    def missed(self, miss: Missed, start: int) -> None:
        """What was read from ``start`` up to here is a call that cannot be made."""
        text = self.tape.slice(start, self.pos)
        self._pending.append(RejectedSegment(text, miss.reason, self.notation, miss.name, miss.detail))

    @property
    def calls_found(self) -> bool:
        """Whether a call was read, final or not."""
        return bool(self._made or self._waiting)

    @property
    def anything(self) -> bool:
        """Whether anything was read that is a call or was meant to be one."""
        return bool(self._made or self._pending)

    @property
    def hopeless(self) -> bool:
        """Whether so many calls in a row could not be read that looking at the next one is not worth its cost."""
        return not self._waiting and len(self._pending) > _PATIENCE

    @property
    def pending(self) -> int:
        """How much was found since the last flush."""
        return len(self._pending)

    def forget(self, kept: int = 0) -> None:
        """What was found since the last flush is none, but for the first ``kept``."""
        if len(self._pending) > kept:
            self._waiting -= sum(isinstance(segment, CallSegment) for segment in self._pending[kept:])
            del self._pending[kept:]

    def flush(self) -> None:
        """Make what was found so far final. Waits for the first call: a candidate without one stays text."""
        if self.hold or not (self._made or self._waiting) or self.example:
            return
        for segment in self._pending:
            if isinstance(segment, CallSegment):
                self._made += 1
                if self.repeats.elsewhere(segment.call, self.notation):
                    continue
                self.context.calls += 1
            self.out.append(segment)
        self._pending.clear()
        self._waiting = 0
        self.context.cut(call=True)
        self.done = self.pos

    def finish(self) -> None:
        """The reader is through: what it took up to here was its notation."""
        if self._waiting and not self.example:
            self.hold = False
            self.flush()
        elif self.anything and self.example:
            self._pending.clear()
            self._waiting = 0
            self.show(self.pos)
            self.context.refused = self.notation
        elif self.calls_found:
            self.hold = False
            if self._pending:
                self.flush()
            self.drop()
        elif self._pending:
            first = next(s for s in self._pending if isinstance(s, RejectedSegment))
            self._pending.clear()
            self._waiting = 0
            text = self.tape.slice(self.done, self.pos)
            text = self.context.shown(text) if text else ""
            self.out.append(RejectedSegment(text, first.reason, self.notation, first.name, first.detail))
            self.done = self.pos
        else:
            self.drop()

    def show(self, stop: int) -> None:
        """Release the text up to ``stop`` as text."""
        if stop > self.done:
            text = self.tape.slice(self.done, stop)
            self.done = stop
            self.out.append(TextSegment(self.context.shown(text)))

    def think(self, start: int, stop: int) -> None:
        """Release the text from ``start`` to ``stop`` as reasoning and drop what stands before it."""
        if stop > start:
            self.out.append(ReasoningSegment(self.tape.slice(start, stop)))
        if stop > self.done:
            self.done = stop
            self.context.cut()

    def pass_text(self, stops: Literals) -> Need[str | None]:
        """Release text as it comes, up to and with the first of ``stops``; None if the reply ends first."""
        while True:
            text, base = self.tape.window(self.pos)
            match = stops.pattern.search(text, self.pos - base)
            if match is not None:
                self.pos = base + match.end()
                self.show(self.pos)
                return match.group()
            keep = 0 if self.tape.closed else stops.pending(text, self.pos - base)
            self.pos = self.tape.end - keep
            self.show(self.pos)
            if self.tape.closed:
                return None
            yield

    def pass_thinking(self, stops: Literals) -> Need[str | None]:
        """Release reasoning as it comes, up to the first of ``stops``, which is dropped."""
        self.drop()
        while True:
            text, base = self.tape.window(self.pos)
            match = stops.pattern.search(text, self.pos - base)
            stop = base + match.start() if match else self.tape.end
            if match is None and not self.tape.closed:
                stop -= stops.pending(text, self.pos - base)
            self.think(self.pos, stop)
            self.pos = stop
            if match is not None:
                self.pos = base + match.end()
                self.drop()
                return match.group()
            if self.tape.closed:
                return None
            yield

    def drop(self) -> None:
        """What stands up to here is markup that nobody needs to see."""
        if self.pos > self.done:
            self.done = self.pos
            self.context.cut()
