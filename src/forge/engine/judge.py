"""The verdict on a whole answer: take it, or reject it with a reason and one correction per call. Pure rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from forge.core.ledger import Fix, Problem
from forge.core.request import Tool
from forge.dialects.reply import RejectedSegment
from forge.engine import wording
from forge.engine.announce import announces_action
from forge.engine.answer import Answer, WrittenCall
from forge.prompts.nudges import not_run_nudge
from forge.schema.check import CallFinding, check_call
from forge.schema.explain import explain


class Rules(Struct, frozen=True, kw_only=True):
    """What an answer is measured by.

    ``must_call``: text alone is a failed answer. ``forced``: the only tool that may be called. ``trust_text``:
    any text is a good answer. ``nudge_announcements``: a text that only announces an action is a failed answer.
    ``single_call``: the caller takes at most one call. ``unguarded``: names of tools that only pass through.
    """

    tools: tuple[Tool, ...]
    must_call: bool = False
    forced: str | None = None
    trust_text: bool = False
    nudge_announcements: bool = True
    single_call: bool = False
    unguarded: frozenset[str] = frozenset()

    @property
    def by_name(self) -> dict[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.tools}


class CheckedCall(Struct, frozen=True, kw_only=True):
    """A call after all checks. ``arguments`` is JSON text of an object whenever ``is_object``.

    ``fault`` is None for a good call, else unknown_tool, wrong_tool or invalid_arguments.
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


class Verdict(Struct, frozen=True, kw_only=True):
    """``reason`` is "accepted" or the code of what is wrong.

    Codes: invalid_arguments, unknown_tool, wrong_tool, broken_call, cut_off, no_call, announced, empty, ran_away.
    ``correction`` is the text for a user message when there is no call that it could answer.
    """

    accepted: bool
    reason: str
    calls: tuple[CheckedCall, ...] = ()
    correction: str = ""
    detail: str = ""

    @property
    def tried_to_call(self) -> bool:
        """Whether the model meant to call, so that a constrained attempt is what it wanted."""
        return self.reason not in ("announced", "empty")

    @property
    def drains_tool_errors(self) -> bool:
        """Invalid arguments have a budget of their own."""
        return self.reason == "invalid_arguments"


def judge(answer: Answer, rules: Rules, *, level: int) -> Verdict:
    """Judge a finished answer. ``level`` is the number that the next correction would have, from 1."""
    calls = tuple(_check(call, rules, level) for call in answer.calls)
    if rules.single_call:
        calls = calls[:1]
    if answer.finish_reason == "length" and calls and calls[-1].fault and not calls[-1].is_object:
        # The last call was cut off by the token limit: it is not executed, its complete siblings are.
        calls = calls[:-1]
        if not calls:
            return Verdict(accepted=True, reason="accepted")
    if calls:
        return _judge_calls(calls)
    return _judge_text(answer, rules, level)


def _judge_calls(calls: tuple[CheckedCall, ...]) -> Verdict:
    faulty = [call for call in calls if call.fault]
    if not faulty:
        return Verdict(accepted=True, reason="accepted", calls=calls)
    # An invented tool is named first: it is the graver misunderstanding, and it drains the other budget.
    worst = next((call for call in faulty if call.fault != "invalid_arguments"), faulty[0])
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
    if answer.finish_reason not in ("stop", "length", "tool_calls"):
        return Verdict(
            accepted=True, reason="accepted"
        )  # content_filter and the like are the backend's verdict
    if answer.ran_away:
        return Verdict(
            accepted=False, reason="ran_away", detail="a text repeated itself until the token limit"
        )
    if rules.must_call:
        broken = next(iter(answer.rejected), None)
        if cut and (level > 1 or (broken is not None and broken.reason == "cut_off")):
            return Verdict(
                accepted=True, reason="accepted"
            )  # the same limit would cut the next attempt as well
        text = _broken(broken, rules, level) if broken else wording.must_call(rules.tools, level=level)
        return Verdict(accepted=False, reason="no_call", correction=text, detail="a tool call is required")
    if rules.trust_text or cut:
        return Verdict(accepted=True, reason="accepted")
    if answer.rejected:
        broken = answer.rejected[0]
        reason = {"unknown_tool": "unknown_tool", "cut_off": "cut_off"}.get(broken.reason, "broken_call")
        detail = f"{broken.notation}: {broken.detail or broken.text[:200]}"
        return Verdict(accepted=False, reason=reason, correction=_broken(broken, rules, level), detail=detail)
    if not answer.text.strip():
        return Verdict(
            accepted=False, reason="empty", correction=wording.empty_answer(), detail="no text, no call"
        )
    if rules.nudge_announcements and announces_action(answer.text):
        text = wording.announced_action()
        return Verdict(accepted=False, reason="announced", correction=text, detail=answer.text[-200:])
    return Verdict(accepted=True, reason="accepted")


def _broken(segment: RejectedSegment, rules: Rules, level: int) -> str:
    return wording.broken_call(rules.tools, reason=segment.reason, name=segment.name, level=level)


def _check(call: WrittenCall, rules: Rules, level: int) -> CheckedCall:
    if call.name in rules.unguarded:
        return _checked(call, name=call.name, arguments=str(call.arguments), is_object=True)
    found = check_call(call.name, call.arguments, rules.by_name)
    fault: str | None = found.fault
    correction = ""
    if found.tool is None:
        correction = wording.unknown_tool(call.name, rules.tools, level=level)
    elif rules.forced and found.name != rules.forced:
        fault, correction = "wrong_tool", wording.wrong_tool(rules.forced, rules.tools, level=level)
    elif fault:
        correction = explain(found.tool, found.problems)
    read_fixes = call.parsed.source.fixes if call.parsed and call.parsed.source else ()
    return _checked(
        call,
        name=found.name,
        arguments=_encode(call, found) if found.usable else _readable(call),
        is_object=found.usable,
        fixes=read_fixes + found.fixes,
        problems=found.problems,
        fault=fault,
        correction=correction,
    )


def _checked(call: WrittenCall, **fields: Any) -> CheckedCall:
    return CheckedCall(id=call.id, notation=call.notation, **fields)


def _encode(call: WrittenCall, found: CallFinding) -> str:
    """The arguments' JSON text: the model's own where nothing had to be changed."""
    if not found.fixes and isinstance(call.arguments, str) and call.arguments.strip():
        return call.arguments
    return json.dumps(found.arguments, ensure_ascii=False)


def _readable(call: WrittenCall) -> str:
    """Arguments that may go back into a history: JSON text of an object, "{}" when there is none.

    llama-server refuses a history whose arguments are not JSON, so a broken call never goes back verbatim.
    """
    if isinstance(call.arguments, dict):
        return json.dumps(call.arguments, ensure_ascii=False)
    try:
        if isinstance(json.loads(call.arguments), dict):
            return str(call.arguments)
    except (TypeError, ValueError):
        pass
    return "{}"


def best_of(candidates: Sequence[tuple[CheckedCall, ...]]) -> tuple[CheckedCall, ...]:
    """The best calls of several rejected attempts: known tools with an object of arguments, fewest problems.

    The client's own error message then teaches the model. Later attempts win ties. Empty when none qualifies.
    """
    best: tuple[CheckedCall, ...] = ()
    for calls in candidates:
        usable = tuple(call for call in calls if call.is_object and call.fault in (None, "invalid_arguments"))
        if usable and (not best or _faults(usable) <= _faults(best)):
            best = usable
    return best


def _faults(calls: tuple[CheckedCall, ...]) -> int:
    return sum(len(call.problems) for call in calls)
