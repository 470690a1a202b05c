"""The judgement on the calls of one answer: which are good, and what each of the others is told. Pure.

The guarded turn, ``ResponseValidator`` and the workflow runner all decide by this; they differ only in what becomes
of the good calls of an answer that also has bad ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct, structs

from forge.core.request import Tool
from forge.engine import wording
from forge.engine.tone import PLAIN, Tone
from forge.prompts.nudges import (
    ARGUMENTS_PREFIX,
    NOT_RUN_PREFIX,
    PREREQUISITE_PREFIX,
    REPEAT_PREFIX,
    STEP_PREFIX,
    UNKNOWN_TOOL_PREFIX,
    tool_arg_validation_nudge,
)
from forge.schema.check import CallFinding, check_call
from forge.schema.explain import explain

Fault: TypeAlias = Literal["unknown_tool", "wrong_tool", "invalid_arguments"]
"""What is wrong with a call by itself. In its conversation it may still be early (step, prerequisite), repeated or forbidden."""

_PREFIXES: Final[Mapping[str | None, str]] = {
    "unknown_tool": UNKNOWN_TOOL_PREFIX,
    "wrong_tool": UNKNOWN_TOOL_PREFIX,
    "invalid_arguments": ARGUMENTS_PREFIX,
    "step": STEP_PREFIX,
    "prerequisite": PREREQUISITE_PREFIX,
    "repeated": REPEAT_PREFIX,
    "forbidden": NOT_RUN_PREFIX,
    None: NOT_RUN_PREFIX,
}
_NOTHING: Final = 0
"""Stands for decoded arguments that are None: no object, and nothing that could be read as one."""


class CallVerdict(Struct, frozen=True, kw_only=True):
    """What is to be done with one call. ``correction`` is the text for the model, "" for a good call."""

    finding: CallFinding
    fault: Fault | None = None
    correction: str = ""


def judge_call(
    name: str,
    arguments: object,
    tools: Mapping[str, Tool],
    *,
    tone: Tone = PLAIN,
    forced: str | None = None,
    decoded: bool = False,
) -> CallVerdict:
    """Judge one call: :func:`check_call`, then :func:`judge_finding`.

    Args:
        name: as the model wrote it.
        arguments: JSON text, or an already decoded value.
        tools: the offered tools by name.
        tone: how a correction is worded.
        forced: the only tool that may be called.
        decoded: a client decoded the arguments as far as they could be read. Absent ones came as {}, so None is
            something that a model got wrong; and what is no object is shown as the Python value that it came as.
    """
    found = check_call(name, _NOTHING if decoded and arguments is None else arguments, tools)
    verdict = judge_finding(found, tools, tone=tone, forced=forced)
    if (
        decoded
        and verdict.fault == "invalid_arguments"
        and not found.usable
        and not isinstance(arguments, dict)
    ):
        return structs.replace(verdict, correction=tool_arg_validation_nudge(name, arguments))
    return verdict


def judge_finding(
    found: CallFinding, tools: Mapping[str, Tool], *, tone: Tone = PLAIN, forced: str | None = None
) -> CallVerdict:
    """Judge a call by what the rules say about it; arguments as in :func:`judge_call`."""
    if found.tool is None:
        return CallVerdict(
            finding=found,
            fault="unknown_tool",
            correction=wording.unknown_tool(found.name, tuple(tools.values()), tone=tone),
        )
    if forced and found.name != forced:
        text = wording.wrong_tool(forced, tuple(tools.values()), tone=tone)
        return CallVerdict(finding=found, fault="wrong_tool", correction=text)
    if found.fault is None:
        return CallVerdict(finding=found)
    return CallVerdict(
        finding=found, fault="invalid_arguments", correction=explain(found.tool, found.problems)
    )


def gravest(faults: Sequence[str | None]) -> int | None:
    """The position of the fault that a whole answer is named after, None when there is none.

    An invented tool goes before broken arguments: it is the graver misunderstanding, and drains the other budget.
    """
    if not any(faults):
        return None
    faulty = [index for index, fault in enumerate(faults) if fault]
    return next((index for index in faulty if faults[index] != "invalid_arguments"), next(iter(faulty), None))


def prefixed(fault: str | None, correction: str) -> str:
    """A correction as the result of its call. ``fault`` None: a good call that was held back."""
    return f"{_PREFIXES[fault]} {correction}"
