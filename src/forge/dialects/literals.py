"""Sets of literal strings that can be searched, matched and recognised while they are still arriving."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


class Literals:
    """A set of strings. Where several match, the longest wins."""

    __slots__ = ("firsts", "longest", "pattern", "prefixes", "starts", "trigrams", "words")

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(sorted(set(words), key=lambda word: (-len(word), word)))
        self.longest = len(self.words[0]) if self.words else 0
        self.pattern = re.compile("|".join(map(re.escape, self.words)) if self.words else r"(?!)")
        self.prefixes = frozenset(word[:n] for word in self.words for n in range(1, len(word)))
        self.trigrams = frozenset(
            [word[:2] for word in self.words]
            + [word[n : n + 3] for word in self.words for n in range(len(word) - 2)]
        )
        self.starts = "".join(sorted({word[0] for word in self.words}))
        self.firsts = re.compile(f"[{re.escape(self.starts)}]") if self.starts else re.compile(r"(?!)")

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
