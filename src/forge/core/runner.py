"""Runs workflows: model and tools in turn, under all guardrails, until a terminal tool has its result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge.core.batch import Batch, RunState, run_batch
from forge.core.inference import InferenceResult, OnChunk, run_inference
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType
from forge.core.reasoning import DEFAULT_REASONING_REPLAY, validate_reasoning_replay
from forge.core.report import RunReport
from forge.core.sync import run_blocking
from forge.core.transcript import OnMessage, unanswered, user
from forge.core.workflow import Workflow
from forge.errors import (
    ForgeError,
    MaxIterationsError,
    PrerequisiteError,
    StepEnforcementError,
    ToolExecutionError,
    WorkflowCancelledError,
)
from forge.prompts.nudges import NOT_RUN_PREFIX


@dataclass(frozen=True)
class RunResult:
    """How a run ended well. ``value`` is what the terminal tool returned, ``messages`` the whole conversation."""

    value: Any
    messages: list[Message]
    completed_steps: list[str]
    report: RunReport


class WorkflowRunner:
    """Runs workflows on a client. All options are attributes that are read at run time; runs may overlap.

    Args:
        client: anything with ``send`` (and ``send_stream`` when ``stream``).
        context_manager: the token budget. Runs at the same time need one each.
        max_iterations: most model calls of a run, rejected ones included.
        max_retries_per_step: answers in a row without a usable call that are tolerated.
        max_tool_errors: failures in a row, of arguments or tools, that are tolerated.
        stream: whether to stream answers to ``on_chunk``.
        on_chunk: awaited with each chunk; a RETRY chunk says that an answer was rejected and another follows.
        on_message: called with each message at the moment it joins the conversation.
        rescue_enabled: whether calls that stand in text count.
        retry_nudge: words the correction of a text answer: a function of that text, or a constant.
        reasoning_replay: which earlier thinking the model sees again: ``full``, ``keep-last`` or ``none``.
        max_premature_attempts: tries in a row to end before the required steps are done that are tolerated.
        max_prereq_violations: batches in a row with a call before its prerequisites that are tolerated.
        tool_timeout: seconds for each tool that has no timeout of its own; None for no limit.
        max_repeats: after so many equal results of equal calls the model is told; 0 never tells.
        sampling: sampling values for every model call.
        passthrough: further fields of every request's body, such as ``max_tokens``.

    Raises:
        ValueError: ``reasoning_replay`` is none of the choices.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the contract's signature
        self,
        client: Any,
        context_manager: Any,
        max_iterations: int = 10,
        max_retries_per_step: int = 3,
        max_tool_errors: int = 2,
        stream: bool = False,
        on_chunk: OnChunk | None = None,
        on_message: OnMessage | None = None,
        rescue_enabled: bool = True,
        retry_nudge: Callable[[str], str] | str | None = None,
        reasoning_replay: str = DEFAULT_REASONING_REPLAY,
        *,
        max_premature_attempts: int = 3,
        max_prereq_violations: int = 2,
        tool_timeout: float | None = None,
        max_repeats: int = 3,
        sampling: Mapping[str, Any] | None = None,
        passthrough: Mapping[str, Any] | None = None,
    ) -> None:
        self.client = client
        self.context_manager = context_manager
        self.max_iterations = max_iterations
        self.max_retries_per_step = max_retries_per_step
        self.max_tool_errors = max_tool_errors
        self.stream = stream
        self.on_chunk = on_chunk
        self.on_message = on_message
        self.rescue_enabled = rescue_enabled
        self.retry_nudge = retry_nudge
        self.reasoning_replay = validate_reasoning_replay(reasoning_replay)
        self.max_premature_attempts = max_premature_attempts
        self.max_prereq_violations = max_prereq_violations
        self.tool_timeout = tool_timeout
        self.max_repeats = max_repeats
        self.sampling = sampling
        self.passthrough = passthrough

    # -- ways to run ------------------------------------------------------------------------------------

    async def run(
        self,
        workflow: Workflow,
        user_message: str,
        prompt_vars: dict[str, Any] | None = None,
        initial_messages: Sequence[Message] | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> Any:
        """Run ``workflow`` and return what its terminal tool returned.

        Args:
            workflow: what to run.
            user_message: the task. With ``initial_messages`` it is not used: they already hold the conversation.
            prompt_vars: values for the placeholders of the system prompt.
            initial_messages: a conversation to go on with, its last message usually the user's.
            cancel_event: setting it cancels the run at once, also in the middle of a model call or an async tool.

        Raises:
            RunError: the run ended without a result; see :mod:`forge.errors` for the kinds.
            BackendError, BackendUnreachableError, StreamError: from the client.

        Every :class:`~forge.errors.ForgeError` carries ``messages``, ``turn``, ``completed_steps`` and ``report``.
        """
        return (
            await self.run_detailed(workflow, user_message, prompt_vars, initial_messages, cancel_event)
        ).value

    async def run_detailed(
        self,
        workflow: Workflow,
        user_message: str,
        prompt_vars: dict[str, Any] | None = None,
        initial_messages: Sequence[Message] | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunResult:
        """Like :meth:`run`, and return the conversation and the report with the value."""
        state = RunState(self, workflow, initial_messages or ())
        begin = time.perf_counter()
        try:
            if not initial_messages:
                self._seed(state, workflow, user_message, prompt_vars)
            value = await _until(self._loop(state, cancel_event), cancel_event, state)
        except BaseException as error:
            _finish_open_calls(state, error)
            state.report.seconds = time.perf_counter() - begin
            _attach(error, state)
            raise
        state.report.seconds = time.perf_counter() - begin
        return RunResult(value, state.messages, state.completed_steps, state.report)

    def run_sync(
        self,
        workflow: Workflow,
        user_message: str,
        prompt_vars: dict[str, Any] | None = None,
        initial_messages: Sequence[Message] | None = None,
    ) -> Any:
        """:meth:`run` for code without an event loop; an interrupt cancels the run. :meth:`close` when done."""
        return run_blocking(self.run(workflow, user_message, prompt_vars, initial_messages))

    async def aclose(self) -> None:
        """Close the client's connections. Idempotent."""
        close = getattr(self.client, "aclose", None)
        if close is not None:
            await close()

    def close(self) -> None:
        """:meth:`aclose` after :meth:`run_sync`."""
        run_blocking(self.aclose())

    # -- the loop ---------------------------------------------------------------------------------------

    def _seed(
        self, state: RunState, workflow: Workflow, user_message: str, prompt_vars: dict[str, Any] | None
    ) -> None:
        prompt = workflow.build_system_prompt(**(prompt_vars or {}))
        state.emit(Message(MessageRole.SYSTEM, prompt, MessageMeta(MessageType.SYSTEM_PROMPT)))
        state.emit(user(user_message, MessageType.USER_INPUT))

    async def _loop(self, state: RunState, cancel_event: asyncio.Event | None) -> Any:
        while state.iteration < self.max_iterations:
            if cancel_event is not None and cancel_event.is_set():
                raise state.cancelled()
            result = await self._infer(state)
            if result is None:
                break
            batch = await run_batch(state, result)
            if batch.finished:
                return batch.value
            _settle(state, batch)
        used = state.iteration
        raise MaxIterationsError(self.max_iterations, state.completed_steps, state.steps.pending(), used=used)

    async def _infer(self, state: RunState) -> InferenceResult | None:
        state.turn += 1
        calls_before = state.report.attempts
        try:
            return await run_inference(
                state.messages,
                self.client,
                self.context_manager,
                state.validator,
                state.errors,
                state.specs,
                step_index=state.iteration,
                step_hint=state.steps.summary_hint(),
                max_attempts=self.max_iterations - state.iteration,
                stream=self.stream,
                on_chunk=self.on_chunk,
                sampling=self.sampling,
                passthrough=self.passthrough,
                reasoning_replay=self.reasoning_replay,
                accept_partial=True,
                turn=state.turn,
                call_ids=state.ids,
                on_message=state.show,
                report=state.report,
            )
        finally:
            state.iteration += state.report.attempts - calls_before


def _settle(state: RunState, batch: Batch) -> None:
    """What a batch without a result means for the budgets; raise when one of them is spent."""
    steps, errors = state.steps, state.errors
    for kind, nudge in batch.blocks.items():
        # A batch that got a required step done is on its way, even if it tried the end too early.
        if kind == "prerequisite" or not batch.progressed:
            steps.count_block(nudge)
    if steps.premature_exhausted:
        raise StepEnforcementError(batch.blocked_tool("step"), steps.premature_attempts, steps.pending())
    if steps.prereq_exhausted:
        call = batch.blocked_calls["prerequisite"]
        raise PrerequisiteError(call.tool, steps.prereq_violations, steps.missing_prerequisites(call))
    if batch.failure is not None:
        errors.record_result(success=False)
        if errors.tool_errors_exhausted:
            tool, cause = batch.failure
            raise ToolExecutionError(tool, cause) from cause
    elif batch.succeeded:
        if not batch.rejected:
            errors.reset_errors()
        if "step" not in batch.blocks or batch.progressed:
            steps.reset_premature()
        if "prerequisite" not in batch.blocks:
            steps.reset_prereq_violations()


async def _until(coroutine: Any, event: asyncio.Event | None, state: RunState) -> Any:
    """The coroutine's result, unless ``event`` is set before it is there."""
    if event is None:
        return await coroutine
    run = asyncio.ensure_future(coroutine)
    watch = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({run, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            run.cancel()
            await asyncio.wait({run})
            if run.cancelled():
                raise state.cancelled()
        return await run
    finally:
        watch.cancel()
        run.cancel()
        await asyncio.wait({run, watch})  # when this returns, nothing of the run is left


def _finish_open_calls(state: RunState, error: BaseException) -> None:
    """Answer the calls that the end of the run left open: a server refuses a history with such calls."""
    open_calls = unanswered(state.messages)
    if not open_calls:
        return
    reason = "the run was cancelled" if _is_cancellation(error) else "the run ended"
    for call in open_calls:
        content = f"{NOT_RUN_PREFIX} This call has no result, because {reason} before it finished."
        meta = MessageMeta(MessageType.TOOL_RESULT, state.turn)
        state.emit(Message(MessageRole.TOOL, content, meta, tool_name=call.name, tool_call_id=call.call_id))


def _is_cancellation(error: BaseException) -> bool:
    return isinstance(error, WorkflowCancelledError | asyncio.CancelledError)


def _attach(error: BaseException, state: RunState) -> None:
    """Give an error everything that the run had: nothing is lost, and it can go on from there."""
    if isinstance(error, ForgeError):
        error.messages = state.messages if error.messages is None else error.messages
        error.turn = state.turn
        error.completed_steps = state.completed_steps
        error.report = state.report
    elif isinstance(error, Exception):
        # Someone else's error, from a client or a callback: it stays what it is and says where it happened.
        error.add_note(f"in turn {state.turn} of workflow {state.workflow.name!r}")
