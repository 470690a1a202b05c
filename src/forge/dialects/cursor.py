"""What a notation's reader works with: a place on the tape and a few questions that wait for text when they must.

A reader is a generator. Every method here that may need more text is a generator too and is used with
``yield from``; it yields None when the answer depends on text that has not arrived yet. So a reader is written
as if the whole reply were there, and still decides at the same character however the reply was split.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

from forge.dialects.literals import Literals
from forge.dialects.tape import Tape
from forge.dialects.toolbox import LONGEST_NAME, Toolbox

T = TypeVar("T")
Need: TypeAlias = Generator[None, None, T]

SPACE = re.compile(r"[\s\u200b\u200c\u200d\u2060\ufeff]*")
BLANKS = re.compile(r"[^\S\n]*")
NAME = re.compile(r"(?:[^\W\d]|\d)(?:[\w.:$/-]|\\_)*")


class Cursor:
    """A reading position. ``pos`` is an offset in the whole reply.

    ``reach`` is the furthest place that was read to, for readers that go back.
    """

    __slots__ = ("pos", "reach", "tape", "tools")

    def __init__(self, tape: Tape, pos: int, tools: Toolbox) -> None:
        self.tape = tape
        self.pos = self.reach = pos
        self.tools = tools

    def more(self) -> Need[None]:
        """Wait until more text has come or the reply has ended."""
        end = self.tape.end
        while self.tape.end == end and not self.tape.closed:
            yield

    def peek(self, count: int = 1) -> Need[str]:
        """The next ``count`` characters; fewer only at the end of the reply."""
        while self.tape.end - self.pos < count and not self.tape.closed:
            yield
        text, base = self.tape.window(self.pos)
        return text[self.pos - base : self.pos - base + count]

    def run(self, pattern: re.Pattern[str]) -> Need[str]:
        """Take the longest run that ``pattern`` (a repeated character class) matches here."""
        start = self.pos
        text, base = self.tape.window(start)
        match = pattern.match(text, start - base)
        if match is not None and match.end() < len(text):
            self.pos = base + match.end()
            self.reach = max(self.reach, self.pos)
            return match.group()
        while True:
            text, base = self.tape.window(self.pos)
            match = pattern.match(text, self.pos - base)
            if match is not None:
                self.pos = base + match.end()
            if self.pos < self.tape.end or self.tape.closed:
                self.reach = max(self.reach, self.pos)
                return self.tape.slice(start, self.pos)
            yield

    def matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what ``pattern`` matches here, if all of it has arrived; what it matches must not depend on more."""
        text, base = self.tape.window(self.pos)
        match = pattern.match(text, self.pos - base)
        if match is not None:
            self.pos = base + match.end()
        return match

    def space(self) -> Need[str]:
        """Skip white space."""
        return self.run(SPACE)

    def literal(self, words: Literals) -> Need[str | None]:
        """Take one of ``words`` if it stands here."""
        while True:
            text, base = self.tape.window(self.pos)
            at = self.pos - base
            if at < len(text) and text[at] not in words.starts:
                return None
            if not self.tape.closed and len(text) - at < words.longest:
                rest = text[at:]
                if not rest or rest in words.prefixes:
                    yield
                    continue
            match = words.pattern.match(text, at)
            if match is None:
                return None
            self.pos = base + match.end()
            return match.group()

    def sees(self, words: Literals) -> Need[str | None]:
        """Like :meth:`literal`, but takes nothing."""
        start = self.pos
        word = yield from self.literal(words)
        self.pos = start
        return word

    def until(self, words: Literals, limit: int = 1 << 60) -> Need[tuple[int, str | None]]:
        """Go behind the next of ``words``; gives the offset where it begins.

        Without one it goes to the end of the reply, or stops ``limit`` characters from here.
        """
        scan = self.pos
        last = scan + limit
        while True:
            text, base = self.tape.window(scan)
            match = words.pattern.search(text, scan - base, min(len(text), last - base))
            if match is not None:
                start = base + match.start()
                # The end of the text may cut a longer word short.
                rest = text[match.start() : match.start() + words.longest]
                if self.tape.closed or rest not in words.prefixes or match.start() + len(rest) < len(text):
                    self.pos = base + match.end()
                    self.reach = max(self.reach, self.pos)
                    return start, match.group()
                scan = start
            elif self.tape.closed or self.tape.end >= last:
                self.pos = min(self.tape.end, last)
                self.reach = max(self.reach, self.pos)
                return self.pos, None
            else:
                scan = max(scan, self.tape.end - words.longest + 1)
            yield from self.more()

    def name(self) -> Need[str]:
        """Take a word that may be a tool name; "" if there is none. Stops at the longest name there can be."""
        start = self.pos
        while True:
            text, base = self.tape.window(start)
            match = NAME.match(text, start - base, start - base + LONGEST_NAME + 1)
            stop = base + match.end() if match else start
            # A backslash at the end may become an escaped underscore.
            half = stop < self.tape.end and self.tape.end - stop == 1 and text[stop - base] == "\\"
            if self.tape.closed or stop - start > LONGEST_NAME or (stop < self.tape.end and not half):
                self.pos = stop
                return self.tape.slice(start, stop)
            yield

    def attribute(self) -> Need[str | None]:
        """Take a quoted attribute value (either quote), or a bare one up to white space or ``>``."""
        quote = yield from self.literal(_QUOTE)
        if quote is None:
            return (yield from self.run(_BARE)) or None
        start = self.pos
        end, found = yield from self.until(_END_QUOTE[quote])
        if found != quote:
            return None
        return self.tape.slice(start, end)

    def at_end(self) -> Need[bool]:
        """Whether the reply ends here."""
        return not (yield from self.peek())


_QUOTE = Literals(('"', "'", "“"))
_END_QUOTE = {
    '"': Literals(('"', "\n", "<")),
    "'": Literals(("'", "\n", "<")),
    "“": Literals(("”", '"', "\n", "<")),
}
_BARE = re.compile(r"[^\s<>=\"'/]*")
