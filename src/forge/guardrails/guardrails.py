"""All guardrails behind two calls, for a loop that you write yourself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge.core.calls import LLMResponse, TextResponse, ToolCall
from forge.engine.policy import TextPolicy
from forge.engine.tone import Tone
from forge.errors import ToolResolutionError
from forge.guardrails.error_tracker import ErrorTracker
from forge.guardrails.nudge import TOOL_ERROR_KINDS, CallCorrection, Nudge
from forge.guardrails.response_validator import ResponseValidator
from forge.guardrails.step_enforcer import Prerequisites, StepEnforcer
from forge.prompts import nudges


@dataclass(frozen=True)
class CheckResult:
    """What a loop must do next.

    ``action`` is one of

    - ``execute``: run ``tool_calls``, then call :meth:`Guardrails.record`;
    - ``retry``: append the answer and ``nudge`` as a message, ask again;
    - ``tool_error``: append the answer and, for each of ``nudge.corrections``, a tool result; ask again;
    - ``step_blocked``: likewise, because a call comes too early;
    - ``fatal``: stop; ``reason`` says why;
    - ``answer``: the model answered in words, ``text``, and the work is done; only with a ``text_policy`` that
      takes text for an answer.
    """

    action: str
    tool_calls: list[ToolCall] | None = None
    nudge: Nudge | None = None
    reason: str | None = None
    text: str | None = None


class Guardrails:
    """Checks each answer of a model, counts its failures, and knows when the work is done.

    Call :meth:`check` with every answer and :meth:`record` with what was executed; report a tool that raised with
    :meth:`record_failure`. One object for each conversation.

    Args:
        tool_names: the offered tools: names, or anything with a schema (``ToolSpec``, ``ToolDef``, OpenAI tool
            objects), in which case arguments are checked and converted too.
        terminal_tool: the tool, or tools, with which the work ends.
        required_steps: tools that must succeed before that.
        max_retries: how many answers in a row without a usable call are tolerated.
        max_tool_errors: how many failures in a row of arguments or tools are tolerated.
        rescue_enabled: whether calls that stand in text count.
        max_premature_attempts: how often in a row the end may be tried too early.
        retry_nudge: words the correction of a text answer: a function of that text, or a constant.
        prerequisites: for a tool's name, what must have succeeded before it; see :class:`~forge.ToolDef`, from
            which they are taken where ``ToolDef`` objects are given.
        max_prereq_violations: how often in a row that may be ignored.
        text_policy: what text without a call is worth once no required step is open; see
            :class:`~forge.guardrails.ResponseValidator`. By default only a terminal tool ends the work.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the contract's signature
        self,
        tool_names: Iterable[object],
        terminal_tool: str | Iterable[str],
        required_steps: Sequence[str] | None = None,
        max_retries: int = 3,
        max_tool_errors: int = 2,
        rescue_enabled: bool = True,
        max_premature_attempts: int = 3,
        retry_nudge: Callable[[str], str] | str | None = None,
        *,
        prerequisites: Mapping[str, Prerequisites] | None = None,
        max_prereq_violations: int = 2,
        text_policy: TextPolicy = "nudge",
    ) -> None:
        tools = list(tool_names)
        terminal = frozenset([terminal_tool] if isinstance(terminal_tool, str) else terminal_tool)
        declared = {t.name: t.prerequisites for t in tools if getattr(t, "prerequisites", None)}  # type: ignore[attr-defined]  # a ToolDef; not imported, it needs pydantic
        self.validator = ResponseValidator(
            tools, rescue_enabled, nudge_function(retry_nudge), text_policy=text_policy
        )
        self.errors = ErrorTracker(max_retries, max_tool_errors)
        self.steps = StepEnforcer(
            required_steps or [],
            terminal,
            declared | dict(prerequisites or {}),
            max_premature_attempts,
            max_prereq_violations,
        )
        self._failed = False
        unknown = sorted(terminal.union(required_steps or []).difference(self.validator.tool_names))
        if unknown:
            warnings.warn(f"not among the tools, so never reached: {', '.join(unknown)}", stacklevel=2)

    def check(self, response: LLMResponse) -> CheckResult:
        """Judge one answer of the model."""
        self._failed = False
        # A validator has nothing against no calls at all, but no answer is no answer.
        result = self.validator.validate(
            response or TextResponse(""),
            tone=Tone(self.errors.level),
            must_call=not self.steps.is_satisfied(),
        )
        if result.nudge is not None:
            return self._rejected(result.nudge)
        calls = result.tool_calls or []
        self.errors.reset_retries()
        if result.is_answer:
            return CheckResult("answer", text=result.text)
        return self._blocked(calls) or CheckResult("execute", tool_calls=calls)

    def record(self, executed: Sequence[str | tuple[str, dict[str, Any]]]) -> bool:
        """Note the tools that succeeded, as names or as (name, arguments).

        Returns:
            True when the work is done: all steps are complete and a terminal tool is among ``executed``.
        """
        names = []
        for entry in executed:
            name, args = (entry, None) if isinstance(entry, str) else entry
            self.steps.record(name, args)
            names.append(name)
        if names and not self._failed:
            self.errors.reset_errors()
            self.steps.reset_premature()
            self.steps.reset_prereq_violations()
        return self.steps.is_satisfied() and not self.steps.terminal_tools.isdisjoint(names)

    def record_failure(self, tool: ToolCall | str, error: BaseException | str) -> CheckResult:
        """Report that a tool raised.

        A ``ToolResolutionError`` costs nothing; anything else costs one tool error, once for each :meth:`check`.

        Returns:
            ``tool_error`` with what to send as the tool's result, or ``fatal`` when that was once too often.
        """
        name, call_id = (tool, None) if isinstance(tool, str) else (tool.tool, tool.id)
        soft = isinstance(error, ToolResolutionError)
        if not soft and not self._failed:
            self.errors.record_result(success=False)
        self._failed = self._failed or not soft
        if self.errors.tool_errors_exhausted:
            return CheckResult("fatal", reason=f"tool {name!r} kept failing: {error}")
        if isinstance(error, str):
            content = f"{nudges.TOOL_ERROR_PREFIX} {error}"
        else:
            content = nudges.resolution_text(error) if soft else nudges.tool_failure_text(error)
        correction = CallCorrection(name, content, "tool_failure", call_id)
        return CheckResult(
            "tool_error", nudge=Nudge("tool", content, "tool_failure", corrections=(correction,))
        )

    def _rejected(self, nudge: Nudge) -> CheckResult:
        if nudge.kind in TOOL_ERROR_KINDS:
            self.errors.record_result(success=False)
            if self.errors.tool_errors_exhausted:
                return CheckResult("fatal", reason="too many tool-argument errors in a row")
        else:
            self.errors.record_retry()
            if self.errors.retries_exhausted:
                return CheckResult("fatal", reason="too many bad responses in a row")
        return CheckResult("retry" if nudge.role == "user" else "tool_error", nudge=nudge)

    def _blocked(self, calls: list[ToolCall]) -> CheckResult | None:
        check = self.steps.check(calls)
        if check.needs_nudge and self.steps.premature_exhausted:
            return CheckResult("fatal", reason="the model skipped required steps too often")
        if not check.needs_nudge:
            check = self.steps.check_prerequisites(calls)
            if check.needs_nudge and self.steps.prereq_exhausted:
                return CheckResult("fatal", reason="the model ignored a tool's prerequisites too often")
        return CheckResult("step_blocked", nudge=check.nudge) if check.needs_nudge else None


def nudge_function(retry_nudge: Callable[[str], str] | str | None) -> Callable[[str], str] | None:
    """A constant text as a function of the rejected text."""
    if isinstance(retry_nudge, str):
        constant = retry_nudge
        return lambda _raw: constant
    return retry_nudge
