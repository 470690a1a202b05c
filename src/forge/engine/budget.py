"""How many failures in a row a turn or a run tolerates."""

from __future__ import annotations


class Budget:
    """Counts failures of one kind. A limit of N tolerates N of them; the next one exhausts it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def drain(self) -> None:
        """One more failure."""
        self.used += 1

    def reset(self) -> None:
        """Something went well: start counting anew."""
        self.used = 0

    @property
    def exhausted(self) -> bool:
        """Whether there were more failures than tolerated."""
        return self.used > self.limit

    @property
    def on_last_rung(self) -> bool:
        """Whether the next failure would exhaust it: time for an attempt that cannot fail that way."""
        return self.used >= self.limit
