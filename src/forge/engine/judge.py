"""The verdict on a whole answer: take it, or reject it with a reason and one correction per call. Pure rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from forge.core.events import CallReady
from forge.core.ledger import Fix, Problem
from forge.engine.answer import Answer, WrittenCall
from forge.engine.call_check import gravest, judge_finding
from forge.engine.course import Course
from forge.engine.offer import Offer
from forge.engine.text_check import TextFault, text_correction, text_fault
from forge.engine.tone import Tone
from forge.prompts.nudges import not_run_nudge, open_steps_nudge
from forge.schema.check import CallFinding

# json.dumps makes a new encoder for each call that is not all defaults.
_json_text = json.JSONEncoder(ensure_ascii=False).encode


_NOT_ITS_TOOL = frozenset({"unknown_tool", "wrong_tool", "forbidden"})
_WITHHELD = frozenset({"content_filter", "refusal", "safety", "recitation", "pause_turn"})
"""Finish reasons by which a backend says that it will not answer: asking again would be arguing with it."""


class Rules(Struct, frozen=True, kw_only=True):
    """What an answer is measured by.

    ``offer``: what may be called; calls of its unguarded tools pass. ``must_call``: text alone is a failed answer. ``forced``: the only tool that may be called. ``trust_text``:
    any text is a good answer. ``nudge_announcements``: a text that only announces an action is a failed answer.
    ``single_call``: the caller takes at most one call. ``examples``: corrections may show an example, see :class:`Tone`.
    ``course``: where the conversation stands, if that matters; ``pending``: its open steps, before which text is no answer.
    """

    offer: Offer
    must_call: bool = False
    forced: str | None = None
    trust_text: bool = False
    nudge_announcements: bool = True
    single_call: bool = False
    examples: bool = True
    pending: tuple[str, ...] = ()
    course: Course | None = None


class CheckedCall(Struct, frozen=True, kw_only=True):
    """A call after all checks. ``arguments`` is JSON text of an object whenever ``is_object``.

    ``fault`` is None for a good call, else one of :data:`forge.engine.call_check.Fault`.
    """

    name: str
    id: str | None
    arguments: str
    is_object: bool
    notation: str
    fixes: tuple[Fix, ...] = ()
    problems: tuple[Problem, ...] = ()
    fault: str | None = None
    correction: str = ""

    def ready(self, call_id: str) -> CallReady:
        """The call as it is given out, under ``call_id``."""
        return CallReady(
            id=call_id,
            name=self.name,
            arguments=self.arguments,
            notation=self.notation,
            fixes=self.fixes,
        )


class Verdict(Struct, frozen=True, kw_only=True):
    """``reason`` is "accepted" or the code of what is wrong.

    Codes: invalid_arguments, unknown_tool, wrong_tool, broken_call, cut_off, no_call, announced, empty, text_bound, and
    for what is right but out of place: step, prerequisite, repeated, forbidden.
    ``correction`` is the text for a user message when there is no call that it could answer. ``text_bound`` (for
    text_bound only): the longest text of the next attempt.
    """

    accepted: bool
    reason: str
    calls: tuple[CheckedCall, ...] = ()
    correction: str = ""
    detail: str = ""
    text_bound: int | None = None

    @property
    def tried_to_call(self) -> bool:
        """Whether the model meant to call, so that a constrained attempt is what it wanted."""
        return self.reason not in ("announced", "empty", "repeated", "forbidden")

    @property
    def drains_tool_errors(self) -> bool:
        """Invalid arguments have a budget of their own."""
        return self.reason == "invalid_arguments"


def judge(answer: Answer, rules: Rules, *, level: int) -> Verdict:
    """Judge a finished answer. ``level`` is the number that the next correction would have, from 1."""
    made = answer.calls
    written = made[:1] if rules.single_call else made
    tone = Tone(level, rules.examples)
    calls = tuple([_check(call, rules, tone) for call in written])
    last = calls and len(calls) == len(made)
    if last and answer.finish_reason == "length" and _may_be_cut(written[-1], calls[-1]):
        # The last call was cut off by the token limit: it is not executed, its complete siblings are.
        calls = calls[:-1]
        if not calls:
            return Verdict(accepted=True, reason="accepted")
    if calls:
        return _judge_calls(calls, rules, level)
    return _judge_text(answer, rules, level)


def _may_be_cut(written: WrittenCall, call: CheckedCall) -> bool:
    """Whether the token limit fell into this call: before its arguments, which then look like none, or within."""
    unbegun = isinstance(written.arguments, str) and not written.arguments.strip()
    return unbegun or (call.fault is not None and not call.is_object)


def _judge_calls(calls: tuple[CheckedCall, ...], rules: Rules, level: int) -> Verdict:
    if rules.course is not None and not any(call.fault for call in calls):
        calls = rules.course.judged(calls, level=level)
    named = gravest([call.fault for call in calls])
    if named is None:
        return Verdict(accepted=True, reason="accepted", calls=calls)
    worst = calls[named]
    innocent = not_run_nudge(worst.name)
    corrected = tuple(
        call if call.fault else msgspec.structs.replace(call, correction=innocent) for call in calls
    )
    return Verdict(
        accepted=False,
        reason=worst.fault or "invalid_arguments",
        calls=corrected,
        detail=f"{worst.name}: {worst.correction}"[:500],
    )


def _judge_text(answer: Answer, rules: Rules, level: int) -> Verdict:
    cut = answer.finish_reason == "length"
    if answer.finish_reason in _WITHHELD or answer.refuses:
        return Verdict(accepted=True, reason="accepted")
    if bound := answer.next_text_bound:
        return Verdict(
            accepted=False,
            reason="text_bound",
            text_bound=bound,
            detail=f"a text did not fit; asking again with texts of at most {bound} characters",
        )
    fault = text_fault(
        answer.text,
        answer.rejected,
        must_call=rules.must_call,
        trust_text=rules.trust_text,
        nudge_announcements=rules.nudge_announcements,
    )
    if fault is not None and fault.reason == "empty" and answer.has_blocks:
        return Verdict(accepted=True, reason="accepted")
    if fault is None or (cut and (not rules.must_call or level > 1 or fault.reason == "cut_off")):
        # The same limit would cut the next attempt as well.
        return Verdict(accepted=True, reason="accepted")
    correction = text_correction(
        fault, rules.offer.functions, must_call=rules.must_call, tone=Tone(level, rules.examples)
    )
    reason: str = "no_call" if rules.must_call else fault.reason
    if rules.pending and fault.broken is None:
        reason, correction = "step", open_steps_nudge(rules.pending, level)
    return Verdict(accepted=False, reason=reason, correction=correction, detail=_detail(fault, answer))


def _detail(fault: TextFault, answer: Answer) -> str:
    if fault.broken is not None:
        return f"{fault.broken.notation}: {fault.broken.detail or fault.broken.text[:200]}"
    return {"empty": "no text, no call", "no_call": "a tool call is required"}.get(
        fault.reason, answer.text[-200:]
    )


def _check(call: WrittenCall, rules: Rules, tone: Tone) -> CheckedCall:
    offer = rules.offer
    if call.name in offer.unguarded:
        given = call.arguments
        text = given if isinstance(given, str) else _json_text(given)
        return _checked(call, name=call.name, arguments=text, is_object=True)
    if call.valid:
        found = CallFinding(
            name=call.name, tool=offer.by_name[call.name], arguments=call.arguments, usable=True
        )
    else:
        found = offer.check(call.name, call.arguments)
    judged = judge_finding(found, offer.by_name, tone=tone, forced=rules.forced)
    read_fixes = call.parsed.source.fixes if call.parsed and call.parsed.source else ()
    return _checked(
        call,
        name=found.name,
        arguments=_encode(call, found) if found.usable else readable_arguments(call),
        is_object=found.usable,
        fixes=read_fixes + found.fixes,
        problems=found.problems,
        fault=judged.fault,
        correction=judged.correction,
    )


def _checked(call: WrittenCall, **fields: Any) -> CheckedCall:
    return CheckedCall(id=call.id, notation=call.notation, **fields)


def _encode(call: WrittenCall, found: CallFinding) -> str:
    """The arguments' JSON text: the model's own where nothing had to be changed."""
    if not found.fixes and isinstance(call.arguments, str) and call.arguments.strip():
        return call.arguments
    return _json_text(found.arguments)


def readable_arguments(call: WrittenCall) -> str:
    """Arguments that may go back into a history: JSON text of an object, "{}" when there is none.

    llama-server refuses a history whose arguments are not JSON, so a broken call never goes back verbatim.
    """
    if isinstance(call.arguments, dict):
        return _json_text(call.arguments)
    try:
        if isinstance(json.loads(call.arguments), dict):
            return str(call.arguments)
    except (TypeError, ValueError, RecursionError):
        pass
    return "{}"


def best_of(candidates: Sequence[tuple[CheckedCall, ...]]) -> tuple[CheckedCall, ...]:
    """The best calls of several rejected attempts: known tools with an object of arguments, fewest problems.

    The client's own error message then teaches the model. Later attempts win ties. Empty when none qualifies.
    """
    best: tuple[CheckedCall, ...] = ()
    for calls in candidates:
        usable = tuple(call for call in calls if call.is_object and call.fault not in _NOT_ITS_TOOL)
        if usable and (not best or _faults(usable) <= _faults(best)):
            best = usable
    return best


def _faults(calls: tuple[CheckedCall, ...]) -> int:
    return sum(len(call.problems) for call in calls)


def finish_reason(answer: Answer, calls: Sequence[CheckedCall]) -> str:
    """Why an answer ended whose ``calls`` the client gets."""
    reason = answer.finish_reason
    if calls:
        # A model that runs on after a written call says nothing more; a structured answer that was cut does.
        structured = all(call.notation == "native" for call in calls)
        cut = reason == "length" and (structured or answer.rejected or answer.has_cut_call)
        return reason if cut else "tool_calls"
    return "stop" if reason == "tool_calls" else reason
