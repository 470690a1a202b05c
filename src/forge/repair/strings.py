"""Strings: where they end when inner quotes are not escaped, and what they say."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from msgspec import Struct

from forge.core.ledger import Risk
from forge.repair.escapes import unescape
from forge.repair.gaps import Gaps
from forge.repair.quotes import (
    CLOSING,
    END_MARK,
    KEY_AHEAD,
    NEVER_AFTER,
    QUOTES,
    VALUE_AHEAD,
    Place,
    doubtful,
    inside,
)

_UNSAFE = frozenset({"inner_quotes", "literal_backslashes"})
ENVELOPE_KEYS = frozenset({"name", "arguments", "parameters", "id", "type", "function", "tool", "args"})


class StringToken(Struct, frozen=True):
    """``end`` is just past the closing quote; ``codes`` are the mendings with their risks."""

    value: str
    end: int
    codes: tuple[tuple[str, Risk], ...] = ()


class Strings:
    """Reads the strings of one text. ``keys`` are the names that may follow a comma."""

    __slots__ = ("gaps", "keys", "size", "text")

    def __init__(self, gaps: Gaps, keys: AbstractSet[str]) -> None:
        self.gaps, self.text, self.keys = gaps, gaps.text, keys
        self.size = len(gaps.text)

    def read(self, pos: int, place: Place, depth: int) -> StringToken | None:
        """The string whose opening quote is at ``pos``; None when the text ends inside it.

        ``depth`` is the number of brackets open around it.
        """
        opener = self.text[pos]
        if place is not Place.KEY and self.text.startswith(opener * 3, pos):
            token = self._triple(pos, opener, place, depth)
            if token is not None:
                return token
        text = self.text
        at = inside(opener).match(text, pos + 1).end()  # type: ignore[union-attr]  # it matches the empty string
        if at >= self.size or text[at] == "\\":
            return None
        if place is Place.KEY or self._closes(at + 1, place, depth, -1):
            return self._token(pos, at, inner=False)
        return self._doubtful(pos, at, place, depth)

    def _doubtful(self, pos: int, at: int, place: Place, depth: int) -> StringToken | None:
        """The string at ``pos`` whose quote at ``at`` is content: go on to one that closes it beyond doubt."""
        text, passed, unclosed = self.text, doubtful(self.text[pos], place), 0
        here = pos + 1
        while True:
            unclosed += text.count("{", here, at) + text.count("[", here, at)
            unclosed -= text.count("}", here, at) + text.count("]", here, at)
            if here > pos + 1 and self._closes(at + 1, place, depth, max(unclosed, 0)):
                return self._token(pos, at, inner=True)
            here = at + 1
            at = passed.match(text, here).end()  # type: ignore[union-attr]  # it matches the empty string
            if at >= self.size or text[at] == "\\":
                return None

    def _token(self, pos: int, at: int, *, inner: bool) -> StringToken:
        raw = self.text[pos + 1 : at]
        value, found = unescape(raw)
        codes = [(code, Risk.RISKY if code in _UNSAFE else Risk.SAFE) for code in found]
        opener = self.text[pos]
        if inner:
            codes.append(("inner_quotes", Risk.RISKY))
        if opener != '"':
            codes.append(("single_quotes" if opener == "'" else "other_quotes", Risk.SAFE))
        if "\n" in raw or "\t" in raw or "\r" in raw:
            codes.append(("raw_control", Risk.SAFE))
        return StringToken(value, at + 1, tuple(codes))

    def _triple(self, pos: int, opener: str, place: Place, depth: int) -> StringToken | None:
        fence = opener * 3
        at = self.text.find(fence, pos + 3)
        while at >= 0 and self.text.startswith(opener, at + 3):
            at += 1  # a quote just before the closing three belongs to the content
        if at < 0 or not self._closes(at + 3, place, depth, -1):
            return None
        value, found = unescape(self.text[pos + 3 : at])
        codes = [(code, Risk.RISKY if code in _UNSAFE else Risk.SAFE) for code in found]
        return StringToken(value, at + 3, (*codes, ("triple_quotes", Risk.SAFE)))

    def _closes(self, after: int, place: Place, depth: int, unclosed: int) -> bool:
        """Whether a quote that ends at ``after`` closes its string, judged by what follows.

        ``unclosed`` is -1 for a string's first candidate; else inner quotes were passed over already, and it
        counts the brackets that the content opened: a follower must then be beyond doubt.
        """
        if NEVER_AFTER.match(self.text, after):
            return False
        pos = self.gaps.skip(after)
        if pos >= self.size:
            return True
        char, first = self.text[pos], unclosed < 0
        if char in ",，、":
            return self._separates(pos, place, depth, unclosed)
        if char in "}]｝］":
            return self._all_close(pos, depth, unclosed)
        if place is Place.ROOT:
            return char in ")};:；+|<=" or "\n" in self.text[after:pos]
        if char == ")" and place is Place.ITEM:
            return first
        if first and char == "+" and self._quote_at(self.gaps.skip(pos + 1)):
            return True
        if END_MARK.match(self.text, pos) is not None:
            return first or not self._quote_after(pos)
        if place is Place.MEMBER:
            return char in QUOTES and self._key_ahead(pos, unclosed) and (first or pos > after)
        return first and pos > after and VALUE_AHEAD.match(self.text, pos) is not None

    def _separates(self, pos: int, place: Place, depth: int, unclosed: int) -> bool:
        text, gaps = self.text, self.gaps
        pos = gaps.skip(pos + 1)
        doubled = 0
        while pos < self.size and text[pos] in ",，" and doubled < 4:
            pos, doubled = gaps.skip(pos + 1), doubled + 1
        if pos >= self.size:
            return True
        if text[pos] in "}]｝］":
            return self._all_close(pos, depth, unclosed)
        if place is Place.ROOT:
            return True
        if place is Place.MEMBER:
            return self._key_ahead(pos, unclosed)
        return VALUE_AHEAD.match(text, pos) is not None or (text[pos] == ")" and unclosed < 0)

    def _key_ahead(self, pos: int, unclosed: int) -> bool:
        match = KEY_AHEAD.match(self.text, pos)
        if match is None:
            return False
        if unclosed < 0:
            return True
        key = match[1] or match[2] or ""
        return key in self.keys or (unclosed == 0 and (not self.keys or key in ENVELOPE_KEYS))

    def _all_close(self, pos: int, depth: int, unclosed: int) -> bool:
        """Whether the closers at ``pos`` close brackets of the structure, not of the string's content."""
        text, gaps = self.text, self.gaps
        count, last = 0, pos
        while pos < self.size and text[pos] in "}]｝］" and count <= depth + 2:
            count, last = count + 1, pos + 1
            pos = gaps.skip(last)
        count -= max(unclosed, 0)
        if count <= 0:
            return False
        if count >= depth:
            follower = text[last : last + 1]
            return not follower or not (follower in CLOSING or follower.isalnum())
        if pos >= self.size or text[pos] in ",，{" or END_MARK.match(text, pos) is not None:
            return True
        return text[pos] in QUOTES and pos > last

    def _quote_at(self, pos: int) -> bool:
        return pos < self.size and self.text[pos] in QUOTES

    def _quote_after(self, pos: int) -> bool:
        return self.text.find('"', pos) >= 0
