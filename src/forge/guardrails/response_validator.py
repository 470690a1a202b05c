"""Is a model's answer a set of calls that can be executed?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from forge.core.calls import CallSource, LLMResponse, TextResponse, ToolCall
from forge.core.request import Tool
from forge.dialects import parse_tool_calls
from forge.dialects.reply import Reply
from forge.guardrails.nudge import CallCorrection, Nudge
from forge.prompts import nudges
from forge.schema.check import CallFinding, check_call
from forge.schema.explain import explain
from forge.schema.names import closest_names
from forge.schema.spec import as_tools


@dataclass(frozen=True)
class JudgedCall:
    """One call of an answer, its arguments as the schema wants them; ``correction`` is None if it may run."""

    call: ToolCall
    correction: CallCorrection | None = None


@dataclass
class ValidationResult:
    """``tool_calls`` when the whole answer is good, else ``nudge``.

    ``judged`` has every call of the answer in order, so that the good calls of a rejected answer can run.
    ``text`` is what stood beside calls that were found in text.
    """

    tool_calls: list[ToolCall] | None
    nudge: Nudge | None
    needs_retry: bool
    judged: list[JudgedCall] = field(default_factory=list)
    text: str = ""


class ResponseValidator:
    """Checks answers against the offered tools. Stateless.

    Args:
        tool_names: the offered tools: bare names, or anything with a schema (``ToolSpec``, ``ToolDef``, an OpenAI
            tool object). With names only, arguments must be an object; with schemas, they must fit, and values
            whose meaning is beyond doubt are converted.
        rescue_enabled: whether calls that stand in text count.
        retry_nudge_fn: words the correction of a text answer, given that text; None for Forge's own words.
    """

    def __init__(
        self,
        tool_names: Iterable[object],
        rescue_enabled: bool = True,
        retry_nudge_fn: Callable[[str], str] | None = None,
    ) -> None:
        self.tools: tuple[Tool, ...] = as_tools(tool_names)
        self.tool_names: list[str] = [tool.name for tool in self.tools]
        self.rescue_enabled = rescue_enabled
        self._by_name = {tool.name: tool for tool in self.tools}
        self._retry_nudge_fn = retry_nudge_fn

    def validate(self, response: LLMResponse) -> ValidationResult:
        """Check one answer. An empty list of calls passes: there is nothing wrong with any call in it."""
        if isinstance(response, TextResponse):
            return self._validate_text(response.content or "")
        return self._validate_calls(response)

    def _validate_text(self, text: str) -> ValidationResult:
        reply = parse_tool_calls(text, self.tools) if self.rescue_enabled else Reply()
        calls = reply.calls
        if not calls:
            content = self._text_nudge(text, reply)
            return ValidationResult(None, Nudge("user", content, "retry"), needs_retry=True)
        if reply.reasoning and calls[0].reasoning is None:
            calls[0] = dataclasses.replace(calls[0], reasoning=reply.reasoning)
        result = self._validate_calls(calls)
        result.text = reply.text.strip()
        return result

    def _text_nudge(self, text: str, reply: Reply) -> str:
        if self._retry_nudge_fn is not None:
            return self._retry_nudge_fn(text)
        if reply.rejected:
            candidate = reply.rejected[0]
            return nudges.broken_call_nudge(candidate.reason, candidate.name, self.tool_names)
        return nudges.retry_nudge(text) if text.strip() else nudges.empty_answer_nudge()

    def _validate_calls(self, calls: Sequence[ToolCall]) -> ValidationResult:
        judged = [self._judge(call) for call in calls]
        offending = [entry for entry in judged if entry.correction]
        if not offending:
            return ValidationResult([entry.call for entry in judged], None, needs_retry=False, judged=judged)
        # An invented tool is named first: it is the graver misunderstanding.
        offending.sort(
            key=lambda entry: entry.correction is not None and entry.correction.kind != "unknown_tool"
        )
        first = offending[0]
        corrections = tuple(entry.correction or _held_back(entry.call, first.call.tool) for entry in judged)
        content = "\n".join(_without_prefix(entry.correction) for entry in offending if entry.correction)
        kind = first.correction.kind if first.correction else ""
        nudge = Nudge("tool", content, kind, corrections=corrections)
        return ValidationResult(None, nudge, needs_retry=True, judged=judged)

    def _judge(self, call: ToolCall) -> JudgedCall:
        # A client decodes absent arguments to {}; None is what a model got wrong some other way.
        finding = check_call(call.tool, _NOTHING if call.args is None else call.args, self._by_name)
        if finding.fault is None:
            return JudgedCall(_corrected(call, finding))
        if finding.fault == "unknown_tool":
            closest = closest_names(call.tool, self.tool_names)
            text = nudges.unknown_tool_nudge(call.tool, self.tool_names, closest)
            content, kind = f"{nudges.UNKNOWN_TOOL_PREFIX} {text}", "unknown_tool"
        else:
            text = _arguments_text(call, finding)
            content, kind = f"{nudges.ARGUMENTS_PREFIX} {text}", "tool_arg_validation"
        correction = CallCorrection(call.tool, content, kind, call.id, problems=finding.problems)
        return JudgedCall(call, correction)


_NOTHING = 0
"""Stands for arguments that are None: no object, and nothing that could be read as one."""


def _corrected(call: ToolCall, finding: CallFinding) -> ToolCall:
    """The call itself where nothing had to be changed; callers compare by identity."""
    if not finding.fixes and finding.name == call.tool and finding.arguments == call.args:
        return call
    source = call.source or CallSource("native")
    source = dataclasses.replace(source, fixes=source.fixes + finding.fixes)
    return dataclasses.replace(call, tool=finding.name, args=finding.arguments, source=source)


def _arguments_text(call: ToolCall, finding: CallFinding) -> str:
    if not finding.usable and not isinstance(call.args, dict):
        return nudges.tool_arg_validation_nudge(call.tool, call.args)
    assert finding.tool is not None
    return explain(finding.tool, finding.problems)


def _held_back(call: ToolCall, offender: str) -> CallCorrection:
    content = f"{nudges.NOT_RUN_PREFIX} {nudges.not_run_nudge(offender)}"
    return CallCorrection(call.tool, content, "not_run", call.id, offending=False)


def _without_prefix(correction: CallCorrection | None) -> str:
    return correction.content.split("] ", 1)[1] if correction else ""
