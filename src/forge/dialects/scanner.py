"""The streaming scanner: text in, in any pieces; text, reasoning, calls and failed attempts out, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from itertools import groupby

from forge.dialects.automaton import Hit, automaton, held_name, name_before
from forge.dialects.candidate import Candidate
from forge.dialects.context import Context
from forge.dialects.notation import Notation, Opener, Where
from forge.dialects.repeats import Repeats
from forge.dialects.reply import ReasoningSegment, Reply, Segment, TextSegment
from forge.dialects.tape import Tape
from forge.dialects.thinking import open_block
from forge.dialects.toolbox import Toolbox

_SPACE = re.compile(r"\s*")


class ReplyScanner:
    """Reads one reply of a model piece by piece.

    ``tools`` are the offered tools in any form that :func:`forge.schema.spec.as_tools` takes. ``feed`` gives
    what became certain with that piece, ``finish`` the rest. The parts joined are the same however the reply was
    split. Neither raises, whatever the text; the cost is linear in it.

    ``thinking`` says that the prompt ended in an open think block, so that the reply begins inside of it. Where
    it is not known, text before a lone closing tag is shown as text: it was released before the tag came.
    """

    def __init__(self, tools: Iterable[object] | Toolbox | None = None, *, thinking: bool = False) -> None:
        self._tools = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        self._automaton = automaton(tuple(self._tools.tools))
        self._tape = Tape()
        self._context = Context()
        self._repeats = Repeats()
        self._out: list[Segment] = []
        self._shown = 0  # everything before was given out or dropped
        self._scan = 0  # no opener begins before
        self._candidate: Candidate | None = None
        self._reader: Generator[None, None, bool] | None = None
        self._choices: list[tuple[int, Opener, Notation]] = []
        self._word = ""  # the opener that was found last
        self._resume = 0  # where it ends
        if thinking:
            self._candidate = Candidate(self._tape, 0, self._tools, self._context, self._repeats)
            self._candidate.notation = "think"
            self._reader = open_block(self._candidate)

    def feed(self, piece: str) -> Reply:
        """Take the next piece."""
        if self._tape.closed:
            raise ValueError("the reply was finished")
        if piece in self._automaton.plain and self._idle():
            self._tape.pass_over(piece)
            self._shown = self._scan = self._tape.end
            return Reply((TextSegment(self._context.shown(piece)),))
        if piece:
            self._automaton.note(piece, self._tools)
            self._tape.append(piece)
            self._run()
            self._tape.drop_before(self._candidate.start if self._candidate else self._shown)
        return self._take()

    def finish(self, *, cut: bool = False) -> Reply:
        """The reply is over: what was held back is decided now.

        ``cut`` says that a limit ended it, not the model (finish reason ``length``): then a call at the end of a
        think block that is still open is a draft.
        """
        if not self._tape.closed:
            self._tape.closed = True
            self._tape.cut = cut
            self._run()
        return self._take()

    def _idle(self) -> bool:
        """Whether no text is held back and no candidate is read."""
        return self._candidate is None and self._tape.empty and self._context.prose

    def _take(self) -> Reply:
        segments = _merged(self._out)
        self._out.clear()
        return Reply(segments)

    def _run(self) -> None:
        while True:
            if self._candidate is not None and not self._step():
                return
            if self._candidate is None and not self._search():
                return

    # -- text --

    def _search(self) -> bool:
        """Look for the next opener. False: nothing more to do with the text that is here."""
        tape, openers = self._tape, self._automaton
        text, base = tape.window(self._shown)
        hit = None if self._context.prose else self._start(text, self._scan - base)
        hit = hit or openers.find(text, self._scan - base, self._shown - base)
        if hit is None:
            self._show(tape.end - (0 if tape.closed else self._held(text, base, len(text))))
            self._scan = max(self._scan, self._shown)
            return False
        at, self._word = hit.start, hit.word
        if hit.waits and not tape.closed:
            low = self._shown - base  # a longer one, without an anchor so far, may begin before it
            at = min(at, len(text) - openers.literals.pending(text, max(low, self._scan - base)))
            self._show(base + at - self._name_held(text, low, at))
            self._scan = max(self._scan, self._shown)
            return False  # it may become a longer opener
        self._resume = base + at + len(self._word)
        self._choose(text, base, at)
        if not self._begin():
            self._scan = self._skip_run()
        return True

    def _start(self, text: str, at: int) -> Hit | None:
        """An opener that counts only where the message begins."""
        match = _SPACE.match(text, at)
        assert match is not None
        at, starts = match.end(), self._automaton.starts
        if at < len(text) and text[at] not in starts.starts:
            return None
        found = starts.pattern.match(text, at)
        if found is not None:
            return Hit(at, found.group())
        if not self._tape.closed and len(text) - at < starts.longest and text[at:] in starts.prefixes:
            return Hit(at, text[at:], waits=True)
        return None

    def _held(self, text: str, base: int, stop: int) -> int:
        """How many characters at the end may begin an opener."""
        low = max(self._shown - base, 0)
        pending = self._automaton.literals.pending(text, max(low, self._scan - base))
        return pending + self._name_held(text, low, stop - pending)

    def _name_held(self, text: str, low: int, stop: int) -> int:
        return held_name(text, max(low, 0), stop, self._context.last, self._tools) if stop > low else 0

    def _skip_run(self) -> int:
        """Behind an opener that is none; in a run of it, at its last where a run is read as one."""
        word, size = self._word, len(self._word)
        entries = self._automaton.entries.get(word, ())
        if size > 1 and not all(notation.repeats for _, notation in entries):
            return self._resume
        text, base = self._tape.window(self._shown)
        at = self._resume - base
        while text.startswith(word * 2, at):
            at += size
        return base + at

    def _choose(self, text: str, base: int, at: int) -> None:
        """Which notations may begin here; those that begin with a tool's name first."""
        entries = self._automaton.entries.get(self._word, ())
        if len(entries) == 1 and not entries[0][0].named:
            self._choices = [(base + at, *entries[0])]
            return
        self._choices = [(base + at, opener, notation) for opener, notation in entries if not opener.named]
        if len(self._choices) == len(entries):
            return
        low = self._shown - base
        name = name_before(text, at, low, self._context.last, self._tools, across_lines=self._word == "{")
        if name is not None:
            named = [(base + name, opener, notation) for opener, notation in entries if opener.named]
            self._choices = named + self._choices

    def _stands(self, opener: Opener) -> bool:
        where, context = opener.where, self._context
        if where is Where.ANYWHERE:
            return True
        if where is Where.LINE:
            return context.at_line_start()
        if where is Where.LABEL:
            return context.at_line_start() or context.announced()
        return not context.prose

    def _show(self, stop: int) -> None:
        if stop > self._shown:
            text = self._tape.slice(self._shown, stop)
            self._shown = stop
            self._out.append(TextSegment(self._context.shown(text)))

    # -- candidates --

    def _begin(self) -> bool:
        """Start the next notation that may begin here."""
        while self._choices:
            start, opener, notation = self._choices.pop(0)
            self._show(start)
            if not self._stands(opener):
                continue
            candidate = Candidate(self._tape, start, self._tools, self._context, self._repeats)
            candidate.notation = notation.name
            candidate.quotable = notation.quotable
            candidate.written_out = notation.written_out
            if notation.quick is not None and notation.quick(candidate):
                self._end(candidate)
            elif notation.plain is None or not self._pass_plain(notation.plain, start):
                self._candidate, self._reader = candidate, notation.read(candidate)
            return True
        return False

    def _pass_plain(self, plain: Callable[[str, int], int], start: int) -> bool:
        """Show what is certainly text from ``start`` on, up to its end."""
        text, base = self._tape.window(start)
        end = plain(text, start - base)
        if end < 0 or (end >= len(text) and not self._tape.closed):
            return False
        self._choices = []
        self._show(base + end)
        self._scan = self._shown
        return True

    def _step(self) -> bool:
        """Let the reader go on. False: it waits for more text."""
        candidate, reader = self._candidate, self._reader
        assert candidate is not None
        assert reader is not None
        try:
            next(reader)
        except StopIteration as stop:
            taken = bool(stop.value)
        else:
            self._settle(candidate)
            return False
        self._candidate = self._reader = None
        self._tape.rereads.read(candidate.start, max(candidate.pos, candidate.reach))
        if taken:
            self._end(candidate)
        else:
            self._settle(candidate)
            if candidate.done > candidate.start:
                self._scan = max(self._scan, self._shown)
            elif self._begin():
                return True
            else:
                self._scan = self._skip_run()  # no notation wants it: look at it again behind the opener
        self._pass_read()
        return True

    def _pass_read(self) -> None:
        """Show what was read already where too much was read again, so that nothing of it is read once more."""
        rereads = self._tape.rereads
        if rereads.too_many(rereads.high):
            self._show(rereads.high)
            self._scan = max(self._scan, self._shown)

    def _end(self, candidate: Candidate) -> None:
        """It was its notation, up to where it stands."""
        candidate.finish()
        self._settle(candidate)
        took = candidate.done > candidate.start
        self._scan = max(self._scan, self._shown if took else self._resume)  # never twice the same opener

    def _settle(self, candidate: Candidate) -> None:
        self._out.extend(candidate.out)
        candidate.out.clear()
        self._shown = max(self._shown, candidate.done)


def _merged(segments: list[Segment]) -> tuple[Segment, ...]:
    """Neighbouring pieces of text, and of reasoning, as one."""
    if len(segments) < 2:
        return tuple(segments)
    merged: list[Segment] = []
    for kind, run in groupby(segments, type):
        if kind is TextSegment or kind is ReasoningSegment:
            merged.append(kind("".join(segment.text for segment in run)))  # type: ignore[union-attr]
        else:
            merged.extend(run)
    return tuple(merged)


def parse_tool_calls(
    text: str, tools: Iterable[object] | Toolbox | None = None, *, thinking: bool = False, cut: bool = False
) -> Reply:
    """Read a whole reply: its calls, what the user should still see, and its reasoning.

    The same as feeding ``text`` to a :class:`ReplyScanner` in one piece; ``cut`` as in its ``finish``.
    """
    scanner = ReplyScanner(tools, thinking=thinking)
    first = scanner.feed(text)
    rest = scanner.finish(cut=cut)
    return Reply(_merged([*first.segments, *rest.segments]))
