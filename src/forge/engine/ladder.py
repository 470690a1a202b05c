"""How far corrections go: two independent budgets, and the constrained attempt as the last rung."""

from __future__ import annotations

from msgspec import Struct

from forge.engine.budget import Budget
from forge.engine.judge import Verdict
from forge.engine.policy import Policy

SHORT_TEXT = 80
"""Characters of a text in an attempt that follows one which ran away: what such a model has to say is short."""


class Step(Struct, frozen=True):
    """The next attempt.

    ``constrain``: restrict decoding to the calls' schemas, if the backend can. ``short_texts``: and keep texts short.
    ``correct``: tell the model what was wrong; an attempt that only ran away needs no words, only bounds.
    """

    constrain: bool
    short_texts: bool = False
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
        if verdict.reason == "ran_away":
            return Step(constrain=True, short_texts=True, correct=False)
        return Step(constrain=budget.on_last_rung and verdict.tried_to_call)
