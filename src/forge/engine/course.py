"""Where a conversation stands: which steps are open, which calls come too early, which only go round in circles.

All of it is read from the transcript, which every request brings along; nothing is kept between requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from forge.core.repeats import LONGEST_CYCLE, Repeat, Repeats, canonical
from forge.core.request import Call, ChatMessage
from forge.core.steps import StepRules, StepTracker
from forge.engine.history import decoded_arguments, past_calls, since_the_user_spoke
from forge.engine.workflow_rules import WorkflowRules
from forge.prompts.nudges import early_nudge, loop_nudge

if TYPE_CHECKING:
    from forge.core.events import CallReady
    from forge.engine.judge import CheckedCall


class Course:
    """The course of one conversation so far.

    Args:
        messages: the conversation, without what Forge appends to it.
        rules: what must happen before what; None where anything may.
        loop_limit: how many equal results of equal calls in a row are too many; 0 where none are.
        ends: further tools that end the conversation, such as one that Forge offers to answer by.
    """

    def __init__(
        self,
        messages: Sequence[ChatMessage],
        rules: WorkflowRules | None,
        loop_limit: int,
        ends: frozenset[str] = frozenset(),
    ) -> None:
        self._messages = messages
        self._loop_limit = loop_limit
        self._required = rules.required_steps if rules else ()
        self._rules = _rules(rules, ends) if rules else _NO_RULES

    @property
    def has_rules(self) -> bool:
        """Whether anything must happen before anything else."""
        return bool(self._required or self._rules.prerequisites)

    @property
    def pending(self) -> list[str]:
        """Required steps that did not succeed yet."""
        return self._done.pending() if self._required else []

    def may_call(self, name: str) -> bool:
        """Whether there are arguments with which a tool may be called now."""
        if self._rules.step_block(self._done, name):
            return False
        plain = [entry for entry in self._rules.prerequisites.get(name, ()) if isinstance(entry, str)]
        return self._done.check_prerequisites(name, {}, plain).satisfied

    def judged(self, calls: tuple[CheckedCall, ...], *, level: int) -> tuple[CheckedCall, ...]:
        """``calls``, which are right by themselves, with a correction at those that are out of place here.

        A call is measured by what succeeded before this answer: whether another call of the same answer will succeed, a
        proxy cannot know. Calls go round in circles only if all of them do.
        """
        if self.has_rules:
            early = tuple(self._early(call, level) for call in calls)
            if any(call.fault for call in early):
                return early
        if not self._may_repeat(calls):
            return calls
        repeats = [self._repeats.again(call.name, call.arguments) for call in calls]
        if not all(repeats):
            return calls
        return tuple(
            _repeated(call, again, level) for call, again in zip(calls, repeats, strict=True) if again
        )

    def is_free(self, calls: Sequence[CallReady]) -> bool:
        """Whether ``judged`` would find nothing, as far as can be told at a glance."""
        return not self.has_rules and not self._may_repeat(calls)

    def _early(self, call: CheckedCall, level: int) -> CheckedCall:
        early = self._rules.block(self._done, call.name, decoded_arguments(call.arguments))
        if early is None:
            return call
        text = early_nudge(early.kind, call.name, early.missing, level)
        return msgspec.structs.replace(call, fault=early.kind, correction=text)

    def _may_repeat(self, calls: Sequence[CheckedCall | CallReady]) -> bool:
        """Whether each of ``calls`` is among the last ones; else nothing goes round in circles."""
        return bool(self._loop_limit) and all(map(self._was_just_made, calls))

    def _was_just_made(self, call: CheckedCall | CallReady) -> bool:
        """Whether the same call is among the last ones."""
        seen = 0
        for message in reversed(self._messages):
            for part in message.parts if message.role == "assistant" else ():
                if isinstance(part, Call):
                    seen += 1
                    if part.name == call.name and canonical(part.arguments) == canonical(call.arguments):
                        return True
            if seen >= LONGEST_CYCLE:
                return False
        return False

    @cached_property
    def _done(self) -> StepTracker:
        done = StepTracker(self._required)
        if self.has_rules:
            for call in past_calls(self._messages):
                if call.result is not None and not call.failed:
                    arguments = call.arguments
                    done.record(call.name, arguments if isinstance(arguments, dict) else {})
        return done

    @cached_property
    def _repeats(self) -> Repeats:
        repeats = Repeats(self._loop_limit)
        for call in past_calls(since_the_user_spoke(self._messages, repeats.looked_at)):
            if call.result is not None:
                repeats.record(call.name, call.written, call.result)
        return repeats


_NO_RULES: Final = StepRules()


def _rules(rules: WorkflowRules, ends: frozenset[str]) -> StepRules:
    prerequisites = {name: list(entries) for name, entries in rules.prerequisites.items()}
    return StepRules(ends.union(rules.terminal_tools), prerequisites)


def _repeated(call: CheckedCall, again: Repeat, level: int) -> CheckedCall:
    text = loop_nudge(call.name, again.times, again.result, level)
    return msgspec.structs.replace(call, fault="repeated", correction=text)
