"""How far corrections go: two independent budgets, and the constrained attempt as the last rung."""

from __future__ import annotations

from msgspec import Struct

from forge.engine.budget import Budget
from forge.engine.judge import Verdict
from forge.engine.policy import Policy


class Step(Struct, frozen=True):
    """The next attempt.

    ``constrain``: restrict decoding to the calls' schemas, if the backend can. ``text_bound``: and bound texts anew.
    ``correct``: tell the model what was wrong; a call that only did not fit needs no words.
    """

    constrain: bool
    text_bound: int | None = None
    correct: bool = True


class Ladder:
    """Counts rejections. A budget of N tolerates N rejections; the one after that ends the turn."""

    def __init__(self, policy: Policy) -> None:
        self._retries = Budget(policy.max_retries)
        self._tool_errors = Budget(policy.max_tool_errors)
        self._announced = 0

    @property
    def level(self) -> int:
        """The number of the next correction, from 1: later ones are sharper."""
        return self._retries.used + self._tool_errors.used + 1

    @property
    def announced(self) -> bool:
        """Whether an announcement was nudged already: once is help, twice is nagging."""
        return self._announced > 0

    def next(self, verdict: Verdict) -> Step | None:
        """Count ``verdict``; return the next attempt, or None when its budget is exhausted."""
        budget = self._tool_errors if verdict.drains_tool_errors else self._retries
        budget.drain()
        if verdict.reason == "announced":
            self._announced += 1
        if budget.exhausted:
            return None
        if verdict.text_bound is not None:
            return Step(constrain=True, text_bound=verdict.text_bound, correct=False)
        return Step(constrain=budget.on_last_rung and verdict.tried_to_call)
