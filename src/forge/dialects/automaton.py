"""Finds openers in streaming text, and tells what has to be held back at its end.

Every opener has an anchor, a character that is rare in prose. One search for all anchors skips the prose; what
stands around an anchor then decides which opener it is, if any.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from forge.dialects.context import BLANK
from forge.dialects.literals import Literals
from forge.dialects.notation import Notation, Opener, Where
from forge.dialects.registry import NOTATIONS
from forge.dialects.toolbox import LONGEST_NAME, Toolbox

_Entry: TypeAlias = tuple[Opener, Notation]
_LEADING = "<[{(`>◁｛［"
"""Anchors where an opener may begin."""
_INNER = ":=[~<{"
"""Anchors inside an opener that begins with a letter or another common character."""

_SHORT = 24
"""A piece of one token is not longer."""
_MOST_PIECES = 8192


class Hit(NamedTuple):
    """An opener at ``start``. ``waits``: more text may make it another, longer one (or make it one at all)."""

    start: int
    word: str
    waits: bool = False


class _Anchor:
    """The openers with one anchor: those that begin with it, and those that hold it further in."""

    __slots__ = ("anywhere", "bare", "here", "inner", "named", "tails")

    def __init__(self, char: str, words: list[tuple[str, int]], entries: dict[str, list[_Entry]]) -> None:
        self.here = Literals(word for word, offset in words if not offset)
        self.inner = sorted(((word, offset) for word, offset in words if offset), key=lambda item: -item[1])
        self.tails = frozenset(word[offset - 2 : offset] for word, offset in words if offset)
        self.bare = bool(entries.get(char))
        self.named = any(opener.named for opener, _ in entries.get(char, ()))
        self.anywhere = any(
            opener.where is Where.ANYWHERE and not opener.named for opener, _ in entries.get(char, ())
        )

    def may_stand(self, text: str, at: int, low: int) -> bool:
        """A quick look at what precedes the anchor itself as an opener; the full rules come later."""
        if at <= low or self.anywhere:
            return self.bare
        before = text[at - 1]
        if before.isalnum() or before in "_-":
            return self.named
        while at > low and text[at - 1] in BLANK:
            at -= 1
        return self.bare and (at == low or text[at - 1] in "\n:：")


class Automaton:
    """All openers. Those that hold a tool's name are kept apart, so that a new set of tools costs little."""

    __slots__ = ("_anchors", "_chars", "_tags", "entries", "literals", "plain", "starts")

    def __init__(self, names: tuple[str, ...]) -> None:
        fixed = _fixed()
        self._chars, self._anchors, self.literals, self.starts = (
            fixed.chars,
            fixed.anchors,
            fixed.literals,
            fixed.starts,
        )
        self.plain: set[str] = set()
        """Short pieces in which no opener begins, whatever stands around them."""
        self.entries = dict(fixed.entries)
        for opener, notation in fixed.patterns:
            for name in names:
                tag = opener.text.replace("N", name)
                self.entries[tag] = [*self.entries.get(tag, ()), (opener, notation)]
        self._tags = Literals(
            opener.text.replace("N", name) for opener, _ in fixed.patterns for name in names
        )

    def note(self, piece: str, tools: Toolbox) -> None:
        """Remember ``piece`` if nothing in it can begin an opener: models repeat their tokens."""
        if (
            len(piece) > _SHORT
            or self._chars.search(piece)
            or self.literals.pending(piece)
            or held_name(piece, 0, len(piece), "", tools)
        ):
            return
        if len(self.plain) >= _MOST_PIECES:
            self.plain.clear()
        self.plain.add(piece)

    def find(self, text: str, at: int, low: int) -> Hit | None:
        """The first opener that may stand at or behind ``at``; ``low`` is where unreleased text begins."""
        search, size = self._chars.search, len(text)
        while True:
            match = search(text, at)
            if match is None:
                return None
            place, char = match.start(), match.group()
            anchor = self._anchors[char]
            hit = None
            if place > 1 and text[place - 2 : place] in anchor.tails:
                hit = self._inner(text, place, low, anchor)
            if hit is None:
                found = anchor.here.pattern.match(text, place)
                waits = size - place < anchor.here.longest and text[place:] in anchor.here.prefixes
                if found is not None and len(found.group()) > 1:
                    return Hit(place, found.group(), waits)
                tag = self._tag(text, place) if char == "<" else None
                if tag is not None:
                    return tag
                if waits or anchor.may_stand(text, place, low):
                    return Hit(place, char, waits)
                at = place + 1
                if char * 2 not in anchor.tails:  # else an opener ends within the run
                    while text[at : at + 2] == char + char:  # only the last of it can begin something
                        at += 1
                continue
            return hit

    def _inner(self, text: str, place: int, low: int, anchor: _Anchor) -> Hit | None:
        for word, offset in anchor.inner:
            start = place - offset
            if start >= low and text.startswith(word[:offset], start):
                if text.startswith(word, start):
                    return Hit(start, word)
                if len(text) - start < len(word) and word.startswith(text[start:]):
                    return Hit(start, word, waits=True)
        return None

    def _tag(self, text: str, at: int) -> Hit | None:
        match = self._tags.pattern.match(text, at)
        if match is not None:
            return Hit(at, match.group())
        if len(text) - at < self._tags.longest and text[at:] in self._tags.prefixes:
            return Hit(at, text[at:], waits=True)
        return None


class _Fixed(NamedTuple):
    chars: re.Pattern[str]
    anchors: dict[str, _Anchor]
    literals: Literals
    starts: Literals
    entries: dict[str, list[_Entry]]
    patterns: list[_Entry]


@cache
def _fixed() -> _Fixed:
    entries: dict[str, list[_Entry]] = {}
    words: dict[str, list[tuple[str, int]]] = {"<": []}
    starts: list[str] = []
    every = [(opener, notation) for notation in NOTATIONS for opener in notation.openers]
    for opener, notation in every:
        if opener.tool:
            continue
        if opener.text not in entries:
            offset = _anchor_in(opener.text)
            if offset is None:
                starts.append(opener.text)
            else:
                words.setdefault(opener.text[offset], []).append((opener.text, offset))
        entries.setdefault(opener.text, []).append((opener, notation))
    anchors = {char: _Anchor(char, found, entries) for char, found in words.items()}
    chars = re.compile(f"[{re.escape(''.join(anchors))}]")
    return _Fixed(
        chars,
        anchors,
        Literals(entries),
        Literals(starts),
        entries,
        [entry for entry in every if entry[0].tool],
    )


def _anchor_in(word: str) -> int | None:
    if word[0] in _LEADING:
        return 0
    return next((at for at, char in enumerate(word) if at > 1 and char in _INNER), None)


@lru_cache(maxsize=64)
def automaton(names: tuple[str, ...]) -> Automaton:
    """The automaton for these offered names; built once per set."""
    return Automaton(names)


def name_before(
    text: str, at: int, low: int, before: str, tools: Toolbox, *, across_lines: bool = False
) -> int | None:
    """Where an offered tool's name begins that ends right before ``at`` (or on the line before).

    ``low`` is where unreleased text begins and ``before`` the character in front of it.
    """
    end = at
    if across_lines and at > low and text[at - 1] in " \t\r\n":
        end = _before_gap(text, low, at)
    start = _word_start(text, max(low, 0), end, before)
    if start is None:
        return None
    word = text[start:end]
    if tools.get(word) is None or not all(tools.awaits(word[:n]) for n in range(1, len(word) + 1)):
        return None
    return start


def held_name(text: str, low: int, stop: int, before: str, tools: Toolbox) -> int:
    """How many characters before ``stop`` may be a tool's name, whole or not (with a line break behind it)."""
    end = _before_gap(text, low, stop, broken=True)
    start = _word_start(text, low, end, before)
    if start is None:
        return 0
    word = text[start:end]
    if end < stop and tools.get(word) is None:
        return 0
    return stop - start if tools.awaits(word) else 0


def _before_gap(text: str, low: int, stop: int, *, broken: bool = False) -> int:
    """Before one line break and the blanks around it (at most eight characters).

    ``broken``: the line break may still come.
    """
    end, breaks = stop, 0
    while (
        end > low and stop - end < 8 and (text[end - 1] in " \t\r" or (text[end - 1] == "\n" and not breaks))
    ):
        breaks += text[end - 1] == "\n"
        end -= 1
    return end if breaks or broken or end == stop else stop


def _word_start(text: str, low: int, stop: int, before: str) -> int | None:
    """Where the word begins that ends at ``stop``; None if there is none, or one too long for a name."""
    lowest = max(low, stop - LONGEST_NAME)
    start = stop
    while start > lowest and _wordish(text[start - 1]):
        start -= 1
    if start == stop or (start == lowest and _wordish(before if start == low else text[start - 1])):
        return None
    return start


def _wordish(char: str) -> bool:
    return char.isalnum() or (char != "" and char in "_.:$-\\")
