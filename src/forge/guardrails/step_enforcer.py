"""Required steps before the end, prerequisites before a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge.core.calls import ToolCall
from forge.core.steps import Early, Prerequisites, StepRules, StepTracker
from forge.guardrails.nudge import CallCorrection, Nudge, held_back
from forge.prompts import nudges

__all__ = ["Prerequisites", "StepCheck", "StepEnforcer"]


@dataclass
class StepCheck:
    """Whether a batch of calls must be corrected instead of executed."""

    nudge: Nudge | None
    needs_nudge: bool


class StepEnforcer:
    """Knows which calls are too early, and how often the model has tried.

    :meth:`check` and :meth:`check_prerequisites` judge a batch as a whole, by what was done before it.
    :meth:`block` judges a single call by what has been done by now, for loops that run a batch in order.
    """

    def __init__(
        self,
        required_steps: Sequence[str],
        terminal_tools: frozenset[str],
        tool_prerequisites: Mapping[str, Prerequisites] | None = None,
        max_premature_attempts: int = 3,
        max_prereq_violations: int = 2,
    ) -> None:
        self.max_premature_attempts = max_premature_attempts
        self.max_prereq_violations = max_prereq_violations
        self._tracker = StepTracker(list(required_steps))
        self._rules = StepRules(terminal_tools, dict(tool_prerequisites or {}))
        self._premature = 0
        self._violations = 0

    @property
    def terminal_tools(self) -> frozenset[str]:
        """The tools with which the work ends."""
        return self._rules.terminal_tools

    # -- judging ----------------------------------------------------------------------------------------

    def check(self, calls: Sequence[ToolCall]) -> StepCheck:
        """Block a batch with a terminal call while required steps are open; counts the attempt."""
        return self._check_batch(calls, "step")

    def check_prerequisites(self, calls: Sequence[ToolCall]) -> StepCheck:
        """Block a batch with a call whose prerequisites are not met; counts the violation."""
        return self._check_batch(calls, "prerequisite")

    def block(self, call: ToolCall) -> Nudge | None:
        """Why this call may not run now, or None. Counts nothing; see :meth:`count_block`."""
        return self._step_block(call) or self._prerequisite_block(call)

    def count_block(self, nudge: Nudge) -> None:
        """Count one batch in which ``nudge`` was needed."""
        if nudge.kind == "step":
            self._premature += 1
        else:
            self._violations += 1

    def missing_prerequisites(self, call: ToolCall) -> list[str]:
        """Names of the tools that must succeed before this call."""
        early = self._rules.prerequisite_block(self._tracker, call.tool, call.args)
        return early.missing if early else []

    # -- what was done ----------------------------------------------------------------------------------

    def record(self, name: str, args: dict[str, Any] | None = None) -> None:
        """Note a successful execution."""
        self._tracker.record(name, args)

    def is_satisfied(self) -> bool:
        """Whether every required step is done."""
        return self._tracker.is_satisfied()

    def pending(self) -> list[str]:
        """Required steps still open."""
        return self._tracker.pending()

    def summary_hint(self) -> str:
        """One line that says which steps are done."""
        return self._tracker.summary_hint()

    @property
    def completed_steps(self) -> dict[str, None]:
        """Tools that have succeeded, in order; a dict used as an ordered set."""
        return self._tracker.completed_steps

    def terminal_reached(self, calls: Sequence[ToolCall]) -> bool:
        """Whether a terminal tool is among the calls and nothing is left to do before it."""
        return self.is_satisfied() and any(call.tool in self.terminal_tools for call in calls)

    # -- budgets ----------------------------------------------------------------------------------------

    @property
    def premature_attempts(self) -> int:
        """Batches in a row with a terminal call that came too early."""
        return self._premature

    @property
    def premature_exhausted(self) -> bool:
        """Whether that was more often than tolerated."""
        return self._premature > self.max_premature_attempts

    def reset_premature(self) -> None:
        """Start counting premature attempts anew."""
        self._premature = 0

    @property
    def prereq_violations(self) -> int:
        """Batches in a row with a call whose prerequisites were not met."""
        return self._violations

    @property
    def prereq_exhausted(self) -> bool:
        """Whether that was more often than tolerated."""
        return self._violations > self.max_prereq_violations

    def reset_prereq_violations(self) -> None:
        """Start counting violations anew."""
        self._violations = 0

    # -- details ----------------------------------------------------------------------------------------

    def _check_batch(self, calls: Sequence[ToolCall], kind: str) -> StepCheck:
        judge = self._step_block if kind == "step" else self._prerequisite_block
        blocks = [judge(call) for call in calls]
        first = next((block for block in blocks if block), None)
        if first is None:
            return StepCheck(nudge=None, needs_nudge=False)
        self.count_block(first)
        offender = next(call.tool for call, block in zip(calls, blocks, strict=True) if block)
        corrections = tuple(
            block.corrections[0] if block else held_back(call, offender)
            for call, block in zip(calls, blocks, strict=True)
        )
        nudge = Nudge(first.role, first.content, first.kind, first.tier, corrections)
        return StepCheck(nudge=nudge, needs_nudge=True)

    def _step_block(self, call: ToolCall) -> Nudge | None:
        early = self._rules.step_block(self._tracker, call.tool)
        return self._nudge(call, early) if early else None

    def _prerequisite_block(self, call: ToolCall) -> Nudge | None:
        early = self._rules.prerequisite_block(self._tracker, call.tool, call.args)
        return self._nudge(call, early) if early else None

    def _nudge(self, call: ToolCall, early: Early) -> Nudge:
        tier = min(self._premature + 1, 3) if early.kind == "step" else 0
        return _block(call, nudges.early_nudge(early.kind, call.tool, early.missing, tier), early.kind, tier)


def _block(call: ToolCall, text: str, kind: str, tier: int) -> Nudge:
    # Role "user": loops written for this contract append the nudge as one message, and a lone tool message
    # without a call id is refused by servers. ``corrections`` carries the stronger form.
    correction = CallCorrection(call.tool, f"{nudges.EARLY_PREFIXES[kind]} {text}", kind, call.id)
    return Nudge("user", text, kind, tier, (correction,))
