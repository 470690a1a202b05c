"""One turn of a conversation: model calls until an answer passes its checks, or a budget is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forge.core.client_answer import OnChunk
from forge.core.inference_loop import (
    Extras,
    Inference,
    InferenceResult,
    Place,
    Watchers,
    prepare_backend_messages,
)
from forge.core.messages import Message
from forge.core.reasoning import DEFAULT_REASONING_REPLAY, fold_and_serialize
from forge.core.report import RunReport
from forge.core.transcript import CallIds, OnMessage
from forge.guardrails.error_tracker import ErrorTracker
from forge.guardrails.response_validator import ResponseValidator

__all__ = ["InferenceResult", "OnChunk", "fold_and_serialize", "prepare_backend_messages", "run_inference"]


async def run_inference(  # noqa: PLR0913, PLR0917 - the contract's signature
    messages: list[Message],
    client: Any,
    context_manager: Any,
    validator: ResponseValidator,
    error_tracker: ErrorTracker,
    tool_specs: Sequence[Any],
    tool_call_counter: int = 0,
    step_index: int = 0,
    step_hint: str = "",
    max_attempts: int | None = None,
    stream: bool = False,
    on_chunk: OnChunk | None = None,
    sampling: Mapping[str, Any] | None = None,
    passthrough: Mapping[str, Any] | None = None,
    inbound_anthropic_body: Mapping[str, Any] | None = None,
    raw_openai_messages: list[dict[str, Any]] | None = None,
    raw_openai_tools: list[dict[str, Any]] | None = None,
    extra_headers: Mapping[str, str] | None = None,
    reasoning_replay: str = DEFAULT_REASONING_REPLAY,
    *,
    accept_partial: bool = False,
    turn: int | None = None,
    call_ids: CallIds | None = None,
    on_message: OnMessage | None = None,
    report: RunReport | None = None,
) -> InferenceResult | None:
    """Ask the model until its answer is a set of calls that can be executed.

    A rejected answer and its correction are appended to ``messages``; what was sent before is never changed, so a
    server's prompt cache keeps it. Where the client is a :class:`~forge.clients.backend.Backend` that can constrain
    decoding, the last attempt that the budgets allow is constrained to the offered calls.

    Args:
        messages: the conversation; modified in place by corrections and by compaction.
        client: anything with ``send`` (and ``send_stream`` when ``stream``).
        context_manager: compacts, warns and keeps count.
        validator: decides about each answer.
        error_tracker: the budgets for failed answers.
        tool_specs: the tools that are offered.
        tool_call_counter: number for the next call id.
        step_index: given to compaction and, unless ``turn`` is given, written into new messages.
        step_hint: which steps are done, for compaction.
        max_attempts: most model calls; None leaves it to the budgets.
        stream: whether to stream; every chunk goes to ``on_chunk``, with a RETRY chunk between two attempts.
        on_chunk: awaited with each chunk.
        sampling: sampling values for this turn.
        passthrough: further fields of the request body.
        inbound_anthropic_body: a caller's own body, passed on while nothing in it had to be changed.
        raw_openai_messages: a caller's own messages, likewise.
        raw_openai_tools: a caller's own tools, for the first attempt.
        extra_headers: credentials for these calls.
        reasoning_replay: which earlier thinking the model sees again.
        accept_partial: whether an answer with at least one good call passes although others are rejected.
        turn: number written into new messages.
        call_ids: gives ids to calls instead of ``tool_call_counter``.
        on_message: called with each new message at once.
        report: where each model call is noted.

    Returns:
        The answer; None when ``max_attempts`` are used up without one.

    Raises:
        ToolCallError: a budget is spent. Its ``messages`` are the whole conversation with the last answer.
        ContextBudgetExceeded: the conversation does not fit.
        StreamError: a stream ended without its FINAL chunk.
        BackendError, BackendUnreachableError: from the client.
    """
    inference = Inference(
        messages=messages,
        client=client,
        context=context_manager,
        validator=validator,
        tracker=error_tracker,
        tools=list(tool_specs),
        ids=call_ids or CallIds(tool_call_counter),
        place=Place(step_index, step_hint, step_index if turn is None else turn),
        extras=Extras(sampling, passthrough, inbound_anthropic_body, raw_openai_messages, raw_openai_tools),
        headers=extra_headers,
        reasoning_replay=reasoning_replay,
        accept_partial=accept_partial,
        watchers=Watchers(on_chunk if stream else None, on_message, report),
        stream=stream,
    )
    return await inference.run(max_attempts)
