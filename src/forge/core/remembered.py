"""What was read of bytes, kept while the same bytes keep coming, as a client's tools do with each request."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

V = TypeVar("V")

LONGEST: Final = 256 * 1024
"""Bytes. Of longer ones nothing is kept: in memory they are some fifteen times as long, and a few dozen of the longest
bodies that are allowed would be gigabytes that no bound on bodies counts."""


def remembered(
    maxsize: int, longest: int = LONGEST
) -> Callable[[Callable[[bytes], V]], Callable[[bytes], V]]:
    """A function of bytes that knows its last ``maxsize`` results. What is longer than ``longest`` it reads each time."""

    def decorate(read: Callable[[bytes], V]) -> Callable[[bytes], V]:
        known = lru_cache(maxsize)(read)

        def answer(data: bytes) -> V:
            return known(data) if len(data) <= longest else read(data)

        answer.__doc__ = read.__doc__
        return answer

    return decorate
