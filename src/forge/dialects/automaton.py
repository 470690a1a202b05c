"""Finds openers in streaming text: one compiled alternation, and what has to be held back at its end."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TypeAlias

from forge.dialects.literals import Literals
from forge.dialects.notation import Notation, Opener
from forge.dialects.registry import NOTATIONS
from forge.dialects.toolbox import LONGEST_NAME, Toolbox

_Entry: TypeAlias = tuple[Opener, Notation]


class Automaton:
    """All openers. Those that hold a tool's name are kept apart, so that a new set of tools costs little."""

    __slots__ = ("entries", "literals", "search", "tags")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.literals, fixed, patterns = _fixed()
        self.search = self.literals.pattern.search
        self.entries = dict(fixed)
        for opener, notation in patterns:
            for name in names:
                tag = opener.text.replace("N", name)
                self.entries[tag] = [*self.entries.get(tag, ()), (opener, notation)]
        self.tags = Literals(opener.text.replace("N", name) for opener, _ in patterns for name in names)

    def tag(self, text: str, at: int) -> tuple[str | None, bool]:
        """The opener with a tool's name at ``at``, and whether one may still become of what is there."""
        if not self.tags.words:
            return None, False
        match = self.tags.pattern.match(text, at)
        if match is not None:
            return match.group(), False
        return None, text[at : at + self.tags.longest] in self.tags.prefixes


@cache
def _fixed() -> tuple[Literals, dict[str, list[_Entry]], list[_Entry]]:
    entries: dict[str, list[_Entry]] = {}
    patterns = [(opener, notation) for notation in NOTATIONS for opener in notation.openers if opener.tool]
    for notation in NOTATIONS:
        for opener in notation.openers:
            if not opener.tool:
                entries.setdefault(opener.text, []).append((opener, notation))
    return Literals((*entries, *(opener.text[0] for opener, _ in patterns))), entries, patterns


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
    if across_lines and at > low and text[at - 1] in " \t\n":
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
    end = _before_gap(text, low, stop)
    start = _word_start(text, low, end, before)
    if start is None:
        return 0
    word = text[start:end]
    if end < stop and tools.get(word) is None:
        return 0
    return stop - start if tools.awaits(word) else 0


def _before_gap(text: str, low: int, stop: int) -> int:
    """Before one line break and the blanks around it (at most eight characters)."""
    end, breaks = stop, 0
    while end > low and stop - end < 8 and (text[end - 1] in " \t" or (text[end - 1] == "\n" and not breaks)):
        breaks += text[end - 1] == "\n"
        end -= 1
    return end if breaks or end == stop else stop


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
