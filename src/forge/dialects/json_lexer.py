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
_BRACKETS = frozenset((*_OPEN, *_CLOSE))
_QUOTES = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "‘": "‘’'", "「": "」"}
"""What closes a string, by what opened it."""
_QUOTES.update({'"""': "", "'''": ""})  # no single character closes these


class Event(Enum):
    """Why the lexer stopped."""

    MORE = auto()
    """It needs more text."""
    CLOSED = auto()
    """The outermost bracket was closed."""
    MARK = auto()
    """One of the marks that may end the value begins here."""


@lru_cache(maxsize=512)
def _skip(state: str, firsts: str) -> re.Pattern[str]:
    """Matches everything up to the next character that matters in ``state``."""
    first = re.escape(firsts)
    if state in _QUOTES:
        ends = re.escape(_QUOTES[state] or state[0])
        return re.compile(rf"(?:[^\\{ends}{first}]++|\\.)*+", re.DOTALL)
    if state == "//":
        return re.compile(rf"[^\n{first}]*+")
    if state == "/*":
        return re.compile(rf"[^*{first}]*+")
    return re.compile(rf"{_plain(first)}*+")


def _plain(firsts: str) -> str:
    """Matches a character that means nothing between strings."""
    return rf"[^\[\]{{}}()｛｝［］\"'“”‘「\\/{firsts}]"


@lru_cache(maxsize=512)
def _inside(firsts: str, marks: Literals | None, *, strings: bool) -> re.Pattern[str]:
    """Like :func:`_skip` within brackets, but passes over whole strings and small lists as well.

    A string in which a mark may begin is none of them, nor is a bracket with which a mark begins.
    """
    first = re.escape(firsts)
    plain = _plain(first)
    string = rf'|"(?:[^\\"{first}]++|\\.)*+"' if strings else ""
    no_mark = f"(?!{marks.pattern.pattern})" if marks is not None else ""
    return re.compile(rf"(?:{plain}++{string}|{no_mark}\[{plain}*+\])*+", re.DOTALL)


@lru_cache(maxsize=512)
def _runs(firsts: str) -> re.Pattern[str]:
    """Matches brackets that all open or all close; one with which a mark may begin ends the run before it."""
    stop = f"(?![{re.escape(firsts)}])" if firsts else ""
    kinds = (re.escape("".join(_OPEN)), re.escape(_CLOSE))
    return re.compile("|".join(f"[{kind}](?:{stop}[{kind}]){{0,255}}" for kind in kinds))


class JsonLexer:
    """The state between two pieces. ``stack`` holds the closers that are still due, outermost first."""

    __slots__ = (
        "_before",
        "_firsts",
        "_marks",
        "_passes",
        "_runs",
        "_source",
        "_stop_at_tags",
        "lost",
        "mark",
        "stack",
        "state",
    )

    def __init__(
        self, marks: Literals | None = None, *, stop_at_tags: bool = False, source: bool = False
    ) -> None:
        self._marks = marks
        self._source = source  # three quotes open a string, as in Python
        self._stop_at_tags = stop_at_tags
        self._firsts = marks.starts if marks is not None else ""
        if stop_at_tags and "<" not in self._firsts:
            self._firsts += "<"
        self._runs = _runs(self._firsts)
        self.stack: list[str] = []
        self.state = ""
        self.mark = ""
        self._before = ""
        self._passes = 0
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

    def reopen(self, closer: str, passes: int) -> None:
        """The end that was proposed is none: propose a later closer, after passing over so many."""
        self.lost = True
        self.stack = [closer]
        self._passes = passes

    def run(self, text: str, at: int, *, final: bool) -> tuple[int, Event]:
        """Go on at ``at``; gives the offset to go on from and why it stopped."""
        size, firsts = len(text), self._firsts
        inside = _inside(firsts, self._marks, strings=not self._source)
        while True:
            within = self.stack and not self.state and not self._passes
            match = (inside if within else _skip(self.state, firsts)).match(text, at)
            assert match is not None
            at = match.end()
            if at >= size:
                return self._stop(text, size), Event.MORE
            char = text[at]
            if char in firsts:
                event = self._at_mark(text, at, final=final)
                if event is not None:
                    return self._stop(text, at), event
            elif char in _BRACKETS and not self.state:
                taken, closed = self._brackets(self._runs.match(text, at)[0])  # type: ignore[index]  # it matches
                at += taken
                if closed:
                    return self._stop(text, at), Event.CLOSED
                continue
            if not final and size - at <= 2 and self._undecided(char, text[at:]):
                return self._stop(text, at), Event.MORE
            before = text[at - 1] if at else self._before
            taken, closed = self._take(text, at, char, before)
            at += taken
            if closed:
                return self._stop(text, at), Event.CLOSED

    def _at_mark(self, text: str, at: int, *, final: bool) -> Event | None:
        """Why to stop at a character with which a mark may begin; None if there is none."""
        marks = self._marks
        if marks is not None:
            found = marks.pattern.match(text, at)
            if found is not None:
                self.mark = found.group()
                return Event.MARK
            if not final and len(text) - at < marks.longest and text[at:] in marks.prefixes:
                return Event.MORE
        if text[at] == "<" and self._stop_at_tags and not self.state:
            self.mark = "<"
            return Event.MARK
        return None

    def _undecided(self, char: str, rest: str) -> bool:
        """Whether what ``char`` means depends on characters that have not come."""
        if char in "\\/*":
            return len(rest) == 1
        return self._source and char in "\"'" and rest in (char, char * 2)

    def _stop(self, text: str, at: int) -> int:
        if at:
            self._before = text[at - 1]
        return at

    def _take(self, text: str, at: int, char: str, before: str) -> tuple[int, bool]:
        """Take in what stands at ``at``: how much of it, and whether that closed the value."""
        state = self.state
        if self._source and char in "\"'" and self._triple(text, at, char):
            return 3, False
        if state in _QUOTES:
            if char in _QUOTES[state]:
                self.state = ""
                return 1, not self.stack  # without brackets the string is the value
        elif state == "//":
            self.state = "" if char == "\n" else state
        elif state == "/*":
            if text.startswith("*/", at):
                self.state = ""
                return 2, False
        elif char == "\\":
            return 2, False
        elif char == "/":
            self._comment(text[at : at + 2], before)
        elif char in _QUOTES:
            # An apostrophe inside a bare word is not the start of a string.
            if char not in "'‘" or not (before.isalnum() or before == "_"):
                self.state = char
        else:
            match = self._runs.match(text, at)
            if match is not None:
                return self._brackets(match.group())
        return 1, False

    def _triple(self, text: str, at: int, char: str) -> bool:
        """Whether three quotes stand here that open or close a string."""
        if self.state not in ("", char * 3) or not text.startswith(char * 3, at):
            return False
        self.state = "" if self.state else char * 3
        return True

    def _comment(self, mark: str, before: str) -> None:
        if mark == "/*" or (mark == "//" and before != ":"):  # "://" of a bare address is no comment
            self.state = mark

    def _brackets(self, run: str) -> tuple[int, bool]:
        if run[0] in _OPEN:
            self.stack.extend(map(_OPEN.__getitem__, run))
            return len(run), False
        if self._passes:
            passed = min(self._passes, len(run))
            self._passes -= passed
            return passed, False
        taken = min(len(run), max(len(self.stack), 1))
        closed = taken >= len(self.stack)
        del self.stack[len(self.stack) - taken :]
        return taken, closed
