"""Every sentence that a model may read as a correction. Pure; the rules decide when, this module only how.

Each text says what was wrong and what to do next, in that order, and never repeats a model's rejected text: small
models copy what they are shown. :mod:`forge.schema.explain` words the problems of single arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

UNKNOWN_TOOL_PREFIX = "[UnknownTool]"
ARGUMENTS_PREFIX = "[ToolArgValidationError]"
STEP_PREFIX = "[StepEnforcementError]"
PREREQUISITE_PREFIX = "[PrerequisiteError]"
TOOL_ERROR_PREFIX = "[ToolError]"
RESOLUTION_PREFIX = "[ToolResolutionError]"
REPEAT_PREFIX = "[RepeatedCall]"
NOT_RUN_PREFIX = "[NotRun]"

EARLY_PREFIXES = {"step": STEP_PREFIX, "prerequisite": PREREQUISITE_PREFIX}
"""By why a call came too early."""

_MAX_SHOWN = 200
_MAX_QUOTED = 1000


def retry_nudge(raw_response: str) -> str:
    """For an answer that is text where a call was needed. ``raw_response`` is not shown."""
    del raw_response
    return (
        "Your last answer was not a valid tool call. Answer with a call of one of the available tools, "
        "and nothing else."
    )


def broken_call_nudge(
    reason: str, name: str | None, available_tools: Sequence[str], closest: Sequence[str] = ()
) -> str:
    """For text in which the model tried to call.

    Args:
        reason: ``"unknown_tool"``, ``"unreadable"`` or ``"cut_off"``, as in ``RejectedSegment``.
        name: the tool it asked for, where that could be read.
        available_tools: names of the offered tools.
        closest: those of them that may have been meant.
    """
    if reason == "unknown_tool" and name:
        return f"That is not a valid tool call: {unknown_tool_nudge(name, available_tools, closest)}"
    subject = f"Your call of '{name}'" if name else "Your call"
    if reason == "cut_off":
        return f"{subject} stops before its end, so it is not a valid tool call. Send the whole call again, shorter."
    return (
        f"{subject} cannot be read, so it is not a valid tool call. Send it again with its arguments as one JSON "
        "object: double quotes around keys and strings, line breaks in strings written as \\n."
    )


def empty_answer_nudge() -> str:
    """For an answer without text and without calls."""
    return "Your last answer was empty, so it was not a valid tool call. Call one of the available tools."


def unknown_tool_nudge(tool_name: str, available_tools: Sequence[str], closest: Sequence[str] = ()) -> str:
    """For a call of a tool that was not offered. ``closest`` are names that may have been meant."""
    if not available_tools:
        return f"The tool '{tool_name}' does not exist, and no tools are available. Answer without a call."
    hint = f" Did you mean {_either(closest)}?" if closest else ""
    names = ", ".join(available_tools)
    return (
        f"The tool '{tool_name}' does not exist.{hint} The available tools are: {names}. Call one of these."
    )


def tool_arg_validation_nudge(tool_name: str, args: Any) -> str:
    """For arguments that are not an object at all."""
    shown = repr(args)
    if len(shown) > _MAX_SHOWN:
        shown = shown[:_MAX_SHOWN] + "…"
    return (
        f"The arguments of '{tool_name}' must be one JSON object, but they came as {type(args).__name__}: {shown}. "
        f"Call '{tool_name}' again with an object that maps each parameter's name to its value."
    )


def step_nudge(terminal_tool: str, pending_steps: Sequence[str], tier: int = 1) -> str:
    """For a call of the terminal tool while required steps are open; ``tier`` 1 to 3 is how sharp to be."""
    pending = ", ".join(pending_steps)
    tier = min(max(tier, 1), 3)
    if tier == 1:
        return (
            f"You cannot call {terminal_tool} yet. These steps must be completed first: {pending}. "
            "Call the next one now."
        )
    if tier == 2:
        return f"You must call one of these tools now: {pending}."
    return f"STOP. Do NOT call {terminal_tool}. The only acceptable answer is a call of one of these tools: {pending}."


def prerequisite_nudge(tool_name: str, missing_prereqs: Sequence[str]) -> str:
    """For a call of a tool before the tools that it depends on."""
    missing = ", ".join(missing_prereqs)
    return (
        f"{tool_name} needs the result of another tool first: {missing}. Call that, then {tool_name} again."
    )


def early_nudge(kind: str, tool_name: str, missing: Sequence[str], tier: int = 1) -> str:
    """For a call that comes too early: ``kind`` step or prerequisite."""
    if kind == "step":
        return step_nudge(tool_name, missing, tier)
    return prerequisite_nudge(tool_name, missing)


def open_steps_nudge(pending_steps: Sequence[str], tier: int = 1) -> str:
    """For an answer in words while required steps are open; ``tier`` as in :func:`step_nudge`."""
    pending = ", ".join(pending_steps)
    if tier <= 1:
        return (
            f"You cannot end here yet. These steps must be completed first: {pending}. Call the next one now."
        )
    return f"Text is not accepted yet. You must call one of these tools now: {pending}."


def loop_nudge(tool_name: str, times: int, result: str, tier: int = 1) -> str:
    """For a call that would only give again what it gave so often; ``result`` is quoted, since it was not made."""
    quoted = result if len(result) <= _MAX_QUOTED else result[:_MAX_QUOTED] + "…"
    head = f"This call was not run: {tool_name} was called with these arguments {times} times, and each time gave:"
    tail = "Use that result, or try another way: other arguments, another tool, or an answer to the user."
    if tier > 1:
        tail = f"Do NOT call {tool_name} with these arguments again. {tail}"
    return f"{head}\n{quoted}\n{tail}"


def not_run_nudge(offending_tool: str) -> str:
    """For a good call that was held back because of another call of the same answer."""
    return (
        f"This call was not run, because the call of '{offending_tool}' in the same answer was rejected. "
        "Correct that one, then repeat this call if it is still needed."
    )


def not_run_text(offending_tool: str) -> str:
    """The same as the result of the call that was held back."""
    return f"{NOT_RUN_PREFIX} {not_run_nudge(offending_tool)}"


def repeat_nudge(tool_name: str, times: int) -> str:
    """For the same call with the same result over and over; follows that result."""
    return (
        f"This is the same result as before: {tool_name} was called with these arguments {times} times. Use the result, "
        "or try another way; calling it again will give the same."
    )


def _either(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def tool_failure_text(error: BaseException) -> str:
    """What a model reads as the result of a tool that raised: the error's class and text."""
    return f"{TOOL_ERROR_PREFIX} {type(error).__name__}: {error}"


def resolution_text(error: BaseException) -> str:
    """What a model reads as the result of a right call whose data does not exist."""
    return f"{RESOLUTION_PREFIX} {error}"
