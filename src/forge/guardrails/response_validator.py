"""Is a model's answer a set of calls that can be executed?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from forge.core.calls import CallSource, LLMResponse, TextResponse, ToolCall
from forge.core.request import Tool
from forge.dialects import parse_tool_calls
from forge.dialects.reply import Reply, TextSegment
from forge.engine.call_check import CallVerdict, gravest, judge_call, prefixed
from forge.engine.policy import TEXT_POLICIES, TextPolicy
from forge.engine.text_check import text_correction, text_fault
from forge.engine.tone import PLAIN, Tone
from forge.guardrails.nudge import CallCorrection, Nudge, held_back
from forge.schema.check import CallFinding
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
    ``text`` is what stood beside calls that were found in text. ``is_answer``: there is no call, and ``text`` is the
    whole answer; only where the validator's ``text_policy`` takes text for one.
    """

    tool_calls: list[ToolCall] | None
    nudge: Nudge | None
    needs_retry: bool
    judged: list[JudgedCall] = field(default_factory=list)
    text: str = ""
    is_answer: bool = False


class ResponseValidator:
    """Checks answers against the offered tools. Stateless.

    Args:
        tool_names: the offered tools: bare names, or anything with a schema (``ToolSpec``, ``ToolDef``, an OpenAI
            tool object). With names only, arguments must be an object; with schemas, they must fit, and values
            whose meaning is beyond doubt are converted.
        rescue_enabled: whether calls that stand in text count.
        retry_nudge_fn: words the correction of a text answer, given that text; None for Forge's own words.
        text_policy: what text without a call is worth: with ``nudge`` (and ``respond``) nothing; with ``auto`` it is
            an answer unless it is empty, is a broken call or only announces an action; with ``trust`` it always is.

    Raises:
        ValueError: ``text_policy`` is none of these.
    """

    def __init__(
        self,
        tool_names: Iterable[object],
        rescue_enabled: bool = True,
        retry_nudge_fn: Callable[[str], str] | None = None,
        *,
        text_policy: TextPolicy = "nudge",
    ) -> None:
        if text_policy not in TEXT_POLICIES:
            raise ValueError(f"text_policy must be one of: {', '.join(TEXT_POLICIES)}")
        self.tools: tuple[Tool, ...] = as_tools(tool_names)
        self.tool_names: list[str] = [tool.name for tool in self.tools]
        self.rescue_enabled = rescue_enabled
        self._by_name = {tool.name: tool for tool in self.tools}
        self.text_policy = text_policy
        self._retry_nudge_fn = retry_nudge_fn

    def validate(
        self, response: LLMResponse, *, tone: Tone = PLAIN, must_call: bool = False
    ) -> ValidationResult:
        """Check one answer. An empty list of calls passes: there is nothing wrong with any call in it.

        Args:
            response: the answer.
            tone: how a correction is worded, by the number that it has in a row; an announcement is corrected once
                only.
            must_call: no text will do, whatever the policy: the work is not done yet.
        """
        if isinstance(response, TextResponse):
            return self._validate_text(response.content or "", tone, must_call=must_call)
        return self._validate_calls(response, tone)

    def _validate_text(self, text: str, tone: Tone, *, must_call: bool) -> ValidationResult:
        reply = parse_tool_calls(text, self.tools) if self.rescue_enabled else Reply((TextSegment(text),))
        calls = reply.calls
        if not calls:
            return self._judge_text(text, reply, tone, must_call=must_call)
        if reply.reasoning and calls[0].reasoning is None:
            calls[0] = dataclasses.replace(calls[0], reasoning=reply.reasoning)
        result = self._validate_calls(calls, tone)
        result.text = reply.text.strip()
        return result

    def _judge_text(self, raw: str, reply: Reply, tone: Tone, *, must_call: bool) -> ValidationResult:
        must_call = must_call or self.text_policy in ("nudge", "respond")
        fault = text_fault(
            reply.text,
            reply.rejected,
            must_call=must_call,
            trust_text=self.text_policy == "trust",
            nudge_announcements=tone.level == 1,
        )
        if fault is None:
            return ValidationResult([], None, needs_retry=False, text=reply.text, is_answer=True)
        if self._retry_nudge_fn is not None:
            content = self._retry_nudge_fn(raw)
        else:
            content = text_correction(fault, self.tools, must_call=must_call, tone=tone)
        return ValidationResult(None, Nudge("user", content, "retry"), needs_retry=True)

    def _validate_calls(self, calls: Sequence[ToolCall], tone: Tone) -> ValidationResult:
        verdicts = [judge_call(c.tool, c.args, self._by_name, tone=tone, decoded=True) for c in calls]
        named = gravest([verdict.fault for verdict in verdicts])
        judged = [_judged(call, verdict) for call, verdict in zip(calls, verdicts, strict=True)]
        if named is None:
            return ValidationResult([entry.call for entry in judged], None, needs_retry=False, judged=judged)
        offender = calls[named].tool
        corrections = tuple(entry.correction or held_back(entry.call, offender) for entry in judged)
        # One message for the whole answer begins with what the answer is named after.
        texts = [verdict.correction for verdict in verdicts if verdict.fault]
        texts.sort(key=lambda text: text != verdicts[named].correction)
        nudge = Nudge("tool", "\n".join(texts), corrections[named].kind, corrections=corrections)
        return ValidationResult(None, nudge, needs_retry=True, judged=judged)


_KINDS = {"unknown_tool": "unknown_tool", "invalid_arguments": "tool_arg_validation"}


def _judged(call: ToolCall, verdict: CallVerdict) -> JudgedCall:
    if verdict.fault is None:
        return JudgedCall(_corrected(call, verdict.finding))
    content = prefixed(verdict.fault, verdict.correction)
    problems = verdict.finding.problems
    return JudgedCall(
        call, CallCorrection(call.tool, content, _KINDS[verdict.fault], call.id, problems=problems)
    )


def _corrected(call: ToolCall, finding: CallFinding) -> ToolCall:
    """The call itself where nothing had to be changed; callers compare by identity."""
    if not finding.fixes and finding.name == call.tool and finding.arguments == call.args:
        return call
    source = call.source or CallSource("native")
    source = msgspec.structs.replace(source, fixes=source.fixes + finding.fixes)
    return dataclasses.replace(call, tool=finding.name, args=finding.arguments, source=source)
