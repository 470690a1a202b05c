"""Where a JSON-ish value ends, found while it streams in."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r"[\[\]{}\"'“”]")
_INSIDE = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]"), "“": re.compile(r"[”“\"\\]")}
_OPENS_STRING = frozenset("{[,:(=+：，")
_ENDS_STRING = frozenset(",}]:+：，")


class ValueBoundary:
    """Tells, piece by piece, where an object or array closes, without ever reading a character twice.

    Feed it the text from the value's opening bracket on. It keeps a nesting count and the state of the current
    string: constant memory, linear time, any split gives the same answer. A quote opens a string only where a
    key or value may stand (after a bracket, comma, colon or plus), so apostrophes in prose do no harm; inside a
    string a quote closes it only when the next character that is not white space can follow a string (a comma,
    closer, colon or plus), so unescaped inner quotes rarely do.

    The answer is a *boundary*, not a reading: hand the text up to it to
    :func:`forge.repair.tolerant.read_json`. When no boundary was found by the end of the text, read what there
    is: it is cut off, lacks closers before an end mark, or has quotes that nobody can pair.
    """

    __slots__ = ("_before", "_depth", "_escaped", "_pending", "_quote")

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""  # the opening quote of the string we are in
        self._pending = False  # a quote was read that closes the string if what follows says so
        self._escaped = False
        self._before = ":"  # last character that is not white space, outside of strings

    @property
    def in_string(self) -> bool:
        """Whether the last character fed lies inside a string (an end mark there is content)."""
        return bool(self._quote) and not self._pending

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return self._depth

    def feed(self, text: str, start: int = 0) -> int | None:
        """Consume ``text[start:]``; the offset in ``text`` just past the value once it closes, else None.

        ``text`` may be a piece (``start`` 0) or a growing buffer (``start`` is where the last call stopped).
        Nothing may be fed after a boundary was returned.
        """
        pos, size = start, len(text)
        while pos < size:
            if self._escaped:
                self._escaped = False
                pos += 1
            elif self._pending:
                pos = self._after_quote(text, pos)
            elif self._quote:
                pos = self._in_string(text, pos)
            else:
                pos = self._outside(text, pos)
                if self._depth <= 0 and self._before in "}]" and pos <= size:
                    return pos
        return None

    def _in_string(self, text: str, pos: int) -> int:
        match = _INSIDE[self._quote].search(text, pos)
        if match is None:
            return len(text)
        if match[0] == "\\":
            self._escaped = True
        else:
            self._pending = True
        return match.end()

    def _after_quote(self, text: str, pos: int) -> int:
        char = text[pos]
        if char.isspace():
            return pos + 1
        self._pending = False
        if char in _ENDS_STRING:
            self._quote = ""
            self._before = '"'
            return pos
        if char in _INSIDE[self._quote].pattern[1:-1] and char != "\\":
            self._pending = True
            return pos + 1
        return pos

    def _outside(self, text: str, pos: int) -> int:
        match = _OUTSIDE.search(text, pos)
        end = match.start() if match else len(text)
        passed = text[pos:end].rstrip()
        if passed:
            self._before = passed[-1]
        if match is None:
            return len(text)
        char = match[0]
        if char in "{[":
            self._depth += 1
            self._before = char
        elif char in "}]":
            self._depth -= 1
            self._before = char
        elif self._before in _OPENS_STRING:
            self._quote = "“" if char in "“”" else char
        return end + 1
