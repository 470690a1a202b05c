"""Executes the calls of one answer: in order, under the step rules, each with its own outcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from forge.core.calls import ToolCall
from forge.core.inference import InferenceResult
from forge.core.messages import Message, MessageType
from forge.core.repeats import Repeats
from forge.core.report import RunReport, ToolRun
from forge.core.results import serialise_result
from forge.core.tool_execution import execute_tool
from forge.core.transcript import CallIds, answer, call_messages, last_step
from forge.core.workflow import ToolDef, Workflow
from forge.errors import ToolResolutionError, WorkflowCancelledError
from forge.guardrails.error_tracker import ErrorTracker
from forge.guardrails.guardrails import nudge_function
from forge.guardrails.nudge import Nudge
from forge.guardrails.response_validator import JudgedCall, ResponseValidator
from forge.guardrails.step_enforcer import StepEnforcer
from forge.prompts import nudges

if TYPE_CHECKING:
    from forge.core.runner import WorkflowRunner


class RunState:
    """Everything that one run knows; a runner holds none of it, so runs do not see each other."""

    def __init__(self, runner: WorkflowRunner, workflow: Workflow, history: Sequence[Message]) -> None:
        self.runner = runner
        self.workflow = workflow
        self.messages: list[Message] = list(history)
        self.specs = workflow.get_tool_specs()
        self.validator = ResponseValidator(
            self.specs, runner.rescue_enabled, nudge_function(runner.retry_nudge)
        )
        self.errors = ErrorTracker(runner.max_retries_per_step, runner.max_tool_errors)
        self.steps = StepEnforcer(
            workflow.required_steps,
            workflow.terminal_tools,
            {name: tool.prerequisites for name, tool in workflow.tools.items() if tool.prerequisites},
            runner.max_premature_attempts,
            runner.max_prereq_violations,
        )
        self.ids = CallIds(history=history)
        self.report = RunReport()
        self.iteration = 0
        self.turn = last_step(history)
        self.callback_failed = False
        self.repeats = Repeats(runner.max_repeats)

    @property
    def completed_steps(self) -> list[str]:
        """Tools that have succeeded, in order."""
        return list(self.steps.completed_steps)

    def emit(self, message: Message) -> None:
        """Append a message to the conversation and show it."""
        self.messages.append(message)
        self.show(message)

    def show(self, message: Message) -> None:
        """Call ``on_message``; a callback that raised once is not called again in this run."""
        if self.runner.on_message is None or self.callback_failed:
            return
        self.callback_failed = True
        self.runner.on_message(message)
        self.callback_failed = False

    def cancelled(self) -> WorkflowCancelledError:
        """The error for a run that is cancelled now."""
        return WorkflowCancelledError(self.messages, self.completed_steps, self.iteration)


@dataclass
class Batch:
    """How the calls of one answer went.

    ``finished`` with ``value``: a terminal tool succeeded. ``blocks`` and ``blocked_calls`` hold the first call of
    each kind that came too early, ``failure`` the last tool that raised.
    """

    finished: bool = False
    value: Any = None
    succeeded: bool = False
    progressed: bool = False
    rejected: bool = False
    blocks: dict[str, Nudge] = field(default_factory=dict)
    blocked_calls: dict[str, ToolCall] = field(default_factory=dict)
    failure: tuple[str, BaseException] | None = None

    def blocked_tool(self, kind: str) -> str:
        """The tool of the first blocked call of a kind."""
        return self.blocked_calls[kind].tool


@dataclass
class _Outcome:
    """What one call came to."""

    content: str
    kind: MessageType
    name: str
    seconds: float = 0.0
    error: str = ""
    value: Any = None


async def run_batch(state: RunState, result: InferenceResult) -> Batch:
    """Emit the calls of an accepted answer, execute those that may run, emit what each got back.

    Calls run in the order in which they were made, so a required step and the terminal call that it allows may come
    in one answer. Neighbours that are marked ``parallel`` run at the same time.
    """
    entries = result.judged
    calls = [entry.call for entry in entries]
    ids = [state.ids.assign(call) for call in calls]
    for message in call_messages(calls, ids, state.turn, result.text):
        state.emit(message)
    batch = Batch(rejected=any(entry.correction for entry in entries))
    pending = len(state.steps.pending())
    position = 0
    while position < len(entries):
        end = _group_end(state, entries, position)
        group = [_judge(state, batch, entry, entries) for entry in entries[position:end]]
        outcomes = await _run_group(state, calls[position:end], group)
        for call, call_id, outcome in zip(calls[position:end], ids[position:end], outcomes, strict=True):
            _record(state, batch, call, call_id, outcome)
        position = end
    batch.progressed = len(state.steps.pending()) < pending
    return batch


def _group_end(state: RunState, entries: Sequence[JudgedCall], start: int) -> int:
    """The end of the run of parallel tools that begins at ``start``; a call alone where there is none."""
    end = start
    while end < len(entries) and _is_parallel(state, entries[end]):
        end += 1
    return max(end, start + 1)


def _is_parallel(state: RunState, entry: JudgedCall) -> bool:
    tool = state.workflow.tools.get(entry.call.tool)
    return tool is not None and tool.parallel and entry.correction is None


def _judge(
    state: RunState, batch: Batch, entry: JudgedCall, entries: Sequence[JudgedCall]
) -> _Outcome | None:
    """Why a call may not run, as its outcome; None if it may."""
    call = entry.call
    if entry.correction is not None:
        return _Outcome(entry.correction.content, MessageType.RETRY_NUDGE, "rejected")
    if call.tool in state.workflow.terminal_tools:
        # The end must wait for what the model meant to do beside it.
        offender = next((other.call.tool for other in entries if other.correction), None)
        offender = offender or (call.tool if batch.finished else None)
        if offender is not None:
            return _Outcome(nudges.not_run_text(offender), MessageType.RETRY_NUDGE, "not_run")
    nudge = state.steps.block(call)
    if nudge is None:
        return None
    batch.blocks.setdefault(nudge.kind, nudge)
    batch.blocked_calls.setdefault(nudge.kind, call)
    kind = MessageType.STEP_NUDGE if nudge.kind == "step" else MessageType.PREREQUISITE_NUDGE
    return _Outcome(nudge.corrections[0].content, kind, "blocked")


async def _run_group(
    state: RunState, calls: Sequence[ToolCall], judged: Sequence[_Outcome | None]
) -> list[_Outcome]:
    if len(calls) == 1:
        return [judged[0] or await _execute(state, calls[0])]
    async with asyncio.TaskGroup() as group:
        tasks = {
            index: group.create_task(_execute(state, call))
            for index, (call, outcome) in enumerate(zip(calls, judged, strict=True))
            if outcome is None
        }
    return [outcome or tasks[index].result() for index, outcome in enumerate(judged)]


async def _execute(state: RunState, call: ToolCall) -> _Outcome:
    tool: ToolDef = state.workflow.tools[call.tool]
    begin = time.perf_counter()
    try:
        value = await execute_tool(tool, call.args, state.runner.tool_timeout)
        outcome = _Outcome(serialise_result(value), MessageType.TOOL_RESULT, "ok", value=value)
    except ToolResolutionError as error:
        outcome = _Outcome(
            nudges.resolution_text(error), MessageType.TOOL_RESULT, "unresolved", error=str(error)
        )
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled the run: something inside the tool was, and that is a failure like any other.
        outcome = _failed(tool, RuntimeError(f"the tool was cancelled from within: {error}"))
    except Exception as error:  # noqa: BLE001 - a tool may raise anything; the model reads it and goes on
        outcome = _failed(tool, error)
    except BaseException as error:
        error.add_note(f"raised by the tool {call.tool!r} in turn {state.turn} of {state.workflow.name!r}")
        raise
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _failed(tool: ToolDef, error: Exception) -> _Outcome:
    try:
        str(error)
    except Exception:  # noqa: BLE001 - an error that cannot be shown must not hide what happened
        error = RuntimeError(f"{type(error).__name__}, whose text cannot be shown")
    shown = f"{type(error).__name__}: {error}"
    return _Outcome(_failure_text(tool, error), MessageType.TOOL_RESULT, "failed", error=shown, value=error)


def _failure_text(tool: ToolDef, error: Exception) -> str:
    if isinstance(error, ValidationError) and error.title == tool.spec.parameters.__name__:
        # The annotations of the function ask for more than its JSON Schema can say.
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()
        )
        return f"{nudges.ARGUMENTS_PREFIX} The arguments of '{tool.name}' are not right: {faults}"
    return nudges.tool_failure_text(error)


def _record(state: RunState, batch: Batch, call: ToolCall, call_id: str, outcome: _Outcome) -> None:
    content = outcome.content
    if outcome.name == "ok":
        state.steps.record(call.tool, call.args)
        batch.succeeded = True
        content += _repeat_note(state, call, content)
        if call.tool in state.workflow.terminal_tools and not batch.finished:
            batch.finished, batch.value = True, outcome.value
    elif outcome.name == "failed":
        batch.failure = (call.tool, outcome.value)
    state.report.tool_runs.append(
        ToolRun(state.turn, call.tool, call_id, outcome.name, outcome.seconds, outcome.error)
    )
    state.emit(answer(call, call_id, content, outcome.kind, state.turn))


def _repeat_note(state: RunState, call: ToolCall, content: str) -> str:
    """What is added to a result that the model has seen before. A changed result is polling, and passes."""
    state.repeats.record(call.tool, call.args, content)
    times = state.repeats.times
    return f"\n\n{nudges.REPEAT_PREFIX} {nudges.repeat_nudge(call.tool, times)}" if times else ""
