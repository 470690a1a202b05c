"""How much of a reply was read more than once: the bound that keeps the cost linear in it, whatever it is."""

from __future__ import annotations

_FREE = 1 << 16
"""Characters that may be read again for nothing, whatever the length of the reply."""


class Rereads:
    """Counts what is read again, over all notations and places of one reply.

    Only what the text alone decides is counted, so that the same is given up however the text was split.
    """

    __slots__ = ("_count", "high")

    def __init__(self) -> None:
        self._count = 0
        self.high = 0
        """No candidate read further than up to here."""

    def read(self, start: int, stop: int) -> None:
        """A candidate was read from ``start`` up to ``stop``."""
        self._count += max(min(stop, self.high) - start, 0)
        self.high = max(self.high, stop)

    def again(self, size: int) -> None:
        """A reader looked ahead, and goes on ``size`` characters before the place where it stopped to look."""
        self._count += size

    def too_many(self, size: int) -> bool:
        """Whether a reply of which ``size`` characters were read has used up what may be read again."""
        return self._count > 2 * size + _FREE
