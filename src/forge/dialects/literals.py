"""Sets of literal strings that can be searched, matched and recognised while they are still arriving."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any


class Literals:
    """A set of strings. Where several match, the longest wins.

    Most sets of a process are never used, so everything but the words is made on first use.
    """

    __slots__ = ("firsts", "longest", "pattern", "prefixes", "starts", "trigrams", "words")

    words: tuple[str, ...]
    longest: int
    pattern: re.Pattern[str]
    prefixes: frozenset[str]
    """Proper beginnings of the strings."""
    trigrams: frozenset[str]
    starts: str
    """The first characters, sorted."""
    firsts: re.Pattern[str]

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(sorted(set(words), key=lambda word: (-len(word), word)))
        self.longest = len(self.words[0]) if self.words else 0

    def __getattr__(self, name: str) -> Any:
        """Called for a slot that is still empty."""
        make = _PARTS.get(name)
        if make is None:
            raise AttributeError(name)
        value = make(self)
        setattr(self, name, value)
        return value

    def __or__(self, other: Literals) -> Literals:
        return union(self, other)

    def pending(self, text: str, low: int = 0) -> int:
        """How many characters at the end of ``text`` (not before ``low``) may begin one of the strings."""
        if text[-3:] not in self.trigrams:
            # The usual case: at most two characters can be pending.
            if len(text) - low >= 2 and text[-2:] in self.prefixes:
                return 2
            return int(len(text) > low and text[-1] in self.prefixes)
        start = max(len(text) - self.longest + 1, low)
        for match in self.firsts.finditer(text, start):
            if text[match.start() :] in self.prefixes:
                return len(text) - match.start()
        return 0


def _pattern(words: tuple[str, ...]) -> str:
    """The words as a tree of beginnings, which is compiled and matched faster than a list of them."""
    whole = "" in words
    branches: dict[str, list[str]] = {}
    for word in words:
        if word:
            branches.setdefault(word[0], []).append(word[1:])
    parts = []
    for char, rests in branches.items():
        common = _common(rests)
        tail = _pattern(tuple(rest[len(common) :] for rest in rests)) if len(rests) > 1 else ""
        parts.append(re.escape(char + common) + tail)
    if not parts:
        return ""
    inner = parts[0] if len(parts) == 1 and not whole else f"(?:{'|'.join(parts)})"
    return f"{inner}?" if whole else inner


def _common(words: list[str]) -> str:
    first, last = min(words), max(words)
    size = next((at for at, char in enumerate(first) if at >= len(last) or char != last[at]), len(first))
    return first[:size]


_PARTS: dict[str, Callable[[Literals], object]] = {
    "pattern": lambda self: re.compile(_pattern(self.words) or r"(?!)"),
    "prefixes": lambda self: frozenset(word[:n] for word in self.words for n in range(1, len(word))),
    "trigrams": lambda self: frozenset(
        [word[:2] for word in self.words]
        + [word[n : n + 3] for word in self.words for n in range(len(word) - 2)]
    ),
    "starts": lambda self: "".join(sorted({word[0] for word in self.words})),
    "firsts": lambda self: re.compile(f"[{re.escape(self.starts)}]" if self.starts else r"(?!)"),
}


@lru_cache(maxsize=1024)
def literals(*words: str) -> Literals:
    """The set of ``words``, built once."""
    return Literals(words)


@lru_cache(maxsize=1024)
def union(*sets: Literals) -> Literals:
    """One set of several, built once."""
    return Literals(word for words in sets for word in words.words)


def spellings(token: str, bars: str = "｜|", gaps: Iterable[str] = ("▁", "_", " ", "\\_")) -> list[str]:
    """A token in every spelling in use: ``|`` stands for its bar, ``_`` for the gap between its words."""
    return [token.replace("_", gap).replace("|", bar) for bar in bars for gap in gaps]
