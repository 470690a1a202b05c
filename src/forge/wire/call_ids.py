"""Ids of calls, made unique within a conversation. The same ids in the same order always become the same."""

from __future__ import annotations

import re
from typing import Final

_STRICT: Final = re.compile(r"[a-zA-Z0-9]{9}")
"""The form that some of Mistral's templates demand, and that an id which has it must keep."""


class CallIds:
    """Gives out each id once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def copy(self) -> CallIds:
        """One that goes on from here by itself."""
        other = CallIds()
        other._taken = self._taken.copy()
        other._last = self._last.copy()
        return other

    def unique(self, call_id: str) -> str:
        """``call_id`` itself the first time, another one like it from then on; one that is made up for an empty id."""
        number = self._last.get(call_id, 0) + 1
        found = call_id if number == 1 and call_id else _numbered(call_id, number)
        while found in self._taken:
            number += 1
            found = _numbered(call_id, number)
        self._last[call_id] = number
        self._taken.add(found)
        return found


def _numbered(call_id: str, number: int) -> str:
    if not call_id:
        return f"call{number:05d}"
    if _STRICT.fullmatch(call_id):
        return f"{call_id[: 9 - len(str(number))]}{number}"
    return f"{call_id}_{number}"
