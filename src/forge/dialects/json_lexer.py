"""Finds where a JSON value in a growing text may end, without reading it.

The lexer is lenient where models are (single and typographic quotes, comments, full-width braces) and only
*proposes* ends; the tolerant reader then judges the text up to there. What it proposes depends on the text
alone, never on how the text was split into pieces. It touches every character once.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache

from forge.dialects.literals import Literals

_OPEN = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]"}
_CLOSE = "}])｝］"
_QUOTES = {'"': '"', "'": "'", "“": '[“”"]', "”": '[“”"]', "‘": "[‘’']", "「": "[」]", "`": "`"}


class Event(Enum):
    """Why the lexer stopped."""

    MORE = auto()
    """It needs more text."""
    CLOSED = auto()
    """The outermost bracket was closed."""
    MARK = auto()
    """One of the marks that may end the value begins here."""


@lru_cache(maxsize=512)
def _patterns(marks: Literals | None, state: str) -> re.Pattern[str]:
    if state in _QUOTES:
        own = rf"{_QUOTES[state]}|\\"
    elif state == "//":
        own = r"\n"
    elif state == "/*":
        own = r"\*/"
    else:
        own = r"[\[{｛［(]+|[\]}｝］)]+|[\"'“”‘「]|\\|//|/\*" + (r"|<" if state == "<" else "")
    return re.compile(own if marks is None else f"{marks.pattern.pattern}|{own}")


class JsonLexer:
    """The state between two pieces. ``stack`` holds the closers that are still due, outermost first."""

    __slots__ = ("_before", "_marks", "_plain", "lost", "mark", "stack", "state")

    def __init__(self, marks: Literals | None = None, *, stop_at_tags: bool = False) -> None:
        self._marks = marks
        self._plain = "<" if stop_at_tags else ""
        self.stack: list[str] = []
        self.state = self._plain
        self.mark = ""
        self._before = ""
        self.lost = False
        """A proposed end turned out to be none, so strings cannot be told from structure any more."""

    @property
    def in_string(self) -> bool:
        """Whether the text so far ends inside a string."""
        return self.state in _QUOTES

    @property
    def closers(self) -> str:
        """What is missing to close everything that is open."""
        return "".join(reversed(self.stack))

    def reopen(self, closer: str) -> None:
        """The end that was proposed is none: propose the next closer as well."""
        self.lost = True
        self.stack = [closer]

    def run(self, text: str, at: int, *, final: bool) -> tuple[int, Event]:
        """Go on at ``at``; gives the offset to go on from and why it stopped."""
        limit = len(text)
        if self._marks is not None and not final:
            limit -= self._marks.pending(text)
        while True:
            match = _patterns(self._marks, self.state).search(text, at)
            if match is None or match.end() > limit:
                stop = limit if match is None else min(limit, match.start())
                return self._rest(text, at, stop, final=final)
            found = match.group()
            if self._marks is not None and found in self._marks.words:
                self.mark = found
                return self._stop(text, match.start()), Event.MARK
            if found == "\\":
                if match.end() >= len(text) and not final:
                    return self._stop(text, match.start()), Event.MORE
                at = match.end() + 1
                continue
            if found == "<":
                self.mark = found
                return self._stop(text, match.start()), Event.MARK
            at = match.end()
            if self.state != self._plain:
                ended, self.state = self.in_string, self._plain
                if ended and not self.stack:
                    return self._stop(text, at), Event.CLOSED  # the value is a string
                continue
            before = text[match.start() - 1] if match.start() else self._before
            closed = self._structure(found, before)
            if closed is not None:
                return self._stop(text, match.start() + closed), Event.CLOSED

    def _stop(self, text: str, at: int) -> int:
        if at:
            self._before = text[at - 1]
        return at

    def _rest(self, text: str, at: int, limit: int, *, final: bool) -> tuple[int, Event]:
        stop = min(max(at, limit), len(text))
        if not final and stop == len(text) and stop > at and text[stop - 1] in "/*":
            stop -= 1  # may be half of a comment's mark
        return self._stop(text, stop), Event.MORE

    def _structure(self, found: str, before: str) -> int | None:
        """Takes in one token outside of strings; gives how much of it closed the value, if it did."""
        first = found[0]
        if first in _OPEN:
            self.stack.extend(_OPEN[char] for char in found)
        elif first in _CLOSE:
            if len(found) >= len(self.stack):
                taken = len(self.stack)
                self.stack.clear()
                return taken
            del self.stack[len(self.stack) - len(found) :]
        elif first in _QUOTES:
            # An apostrophe inside a bare word is not the start of a string.
            if first not in "'‘" or not (before.isalnum() or before == "_"):
                self.state = first
        elif found == "/*" or before != ":":  # "://" of a bare address is no comment
            self.state = found
        return None
