"""Whose turn it is: a queue in which no caller can keep the others waiting by asking more often.

Pure: it knows neither time nor tasks. Callers take turns; the requests of one caller stay in order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items by caller. A caller who has none waiting takes no turn, and joins the round at its end."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[T]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, caller: Hashable, item: T) -> None:
        """Let ``item`` wait behind what ``caller`` has waiting already."""
        self._lines.setdefault(caller, deque()).append(item)
        self._size += 1

    def take(self) -> T:
        """The next item; its caller goes to the end of the round.

        Raises:
            IndexError: nothing waits.
        """
        if not self._lines:
            raise IndexError("nothing waits")
        caller, line = next(iter(self._lines.items()))
        item = line.popleft()
        self._size -= 1
        if line:
            self._lines.move_to_end(caller)
        else:
            del self._lines[caller]
        return item

    def remove(self, caller: Hashable, item: T) -> bool:
        """Take back an item that waits no more; False where it was taken already."""
        line = self._lines.get(caller)
        if line is None or item not in line:
            return False
        line.remove(item)
        self._size -= 1
        if not line:
            del self._lines[caller]
        return True
