"""Whether calls go round in circles: the same calls, with the same results, over and over. Pure.

A call whose result has changed is polling, and no repetition.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

LONGEST_CYCLE: Final = 4
"""Calls in the longest round that is recognised (A-B-C-D-A-B-C-D)."""
_KEPT: Final = 512


class Repeat(Struct, frozen=True):
    """A call that was made ``times`` times with the same ``result`` each time."""

    times: int
    result: str


class _Event:
    """``written``: the arguments as JSON text. Most calls differ before it matters in what order their keys came."""

    def __init__(self, name: str, written: str, result: str) -> None:
        self.name = name
        self.result = result
        self._written = written

    @cached_property
    def arguments(self) -> str:
        return canonical(self._written)

    def equals(self, other: _Event) -> bool:
        return (
            self.name == other.name
            and self.result == other.result
            and (self._written == other._written or self.arguments == other.arguments)
        )


class Repeats:
    """The calls that were made, in order, and what each gave.

    ``limit`` equal results of equal calls, one directly after the other, are a repetition; so are ``limit - 1``
    rounds, two at least, of up to four calls (A-B-A-B). A limit of 0 finds none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._events: list[_Event] = []

    @property
    def looked_at(self) -> int:
        """So many of the last calls tell whether they go round in circles."""
        return LONGEST_CYCLE * max(2, self._limit) + 1

    def record(self, name: str, arguments: Any, result: str) -> None:
        """Note that a call gave this result."""
        if self._limit > 0:
            written = arguments if isinstance(arguments, str) else canonical(arguments)
            self._events.append(_Event(name, written, result))
            del self._events[:-_KEPT]

    def clear(self) -> None:
        """Begin anew: something happened that gives a reason to make the same calls again."""
        self._events.clear()

    @property
    def times(self) -> int:
        """How often the last call was made with the same result, if that is a repetition; 0 if it is none."""
        return next((rounds for _, rounds in self._cycles()), 0)

    def again(self, name: str, arguments: Any) -> Repeat | None:
        """The repetition that this call would go on with, if there is one."""
        text = ""
        for length, rounds in self._cycles():
            event = self._events[-length]
            text = text or canonical(arguments)
            if event.name == name and event.arguments == text:
                return Repeat(rounds, event.result)
        return None

    def _cycles(self) -> list[tuple[int, int]]:
        """Lengths of the rounds in which the calls go, with the number of rounds."""
        if self._limit <= 0:
            return []
        found = [(length, self._rounds(length)) for length in range(1, LONGEST_CYCLE + 1)]
        return [(length, rounds) for length, rounds in found if rounds >= self._least(length)]

    def _least(self, length: int) -> int:
        return self._limit if length == 1 else max(2, self._limit - 1)

    def _rounds(self, length: int) -> int:
        """How often the last ``length`` calls were made in a row, with the same results."""
        events = self._events
        last = len(events) - 1
        same = 0
        while last - same - length >= 0 and events[last - same].equals(events[last - same - length]):
            same += 1
        return same // length + 1 if len(events) >= length else 0


def canonical(arguments: Any) -> str:
    """Arguments as a text that is the same for the same arguments, whatever the order of their keys."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return str(arguments)
    try:
        return json.dumps(arguments, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(arguments)  # keys of several types, a cycle: possible with arguments from Python
