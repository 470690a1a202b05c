"""The whole answer that nearly all whole answers are, read by its type: text or calls, and nothing unusual beside them.

It says the same as the general reader (:mod:`forge.wire.openai_response`) at a third of the cost, or leaves it to that.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from forge.core.events import CallDelta, Delta, Finish, Started, TextDelta, Usage


class _Function(Struct, forbid_unknown_fields=True):
    name: str
    arguments: str


class _Call(Struct, forbid_unknown_fields=True):
    id: str
    function: _Function
    type: Literal["function"] = "function"


class _Message(Struct, forbid_unknown_fields=True):
    role: str | None = None
    content: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: None = None
    annotations: None = None
    audio: None = None
    function_call: None = None
    reasoning: None = None
    reasoning_content: None = None


class _Choice(Struct, forbid_unknown_fields=True):
    message: _Message
    finish_reason: str
    index: Literal[0] = 0
    logprobs: None = None
    stop_reason: None = None
    token_ids: None = None
    routed_experts: None = None


class _Cached(Struct, forbid_unknown_fields=True):
    cached_tokens: int


class _Thought(Struct, forbid_unknown_fields=True):
    reasoning_tokens: int


class _Usage(Struct, forbid_unknown_fields=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: _Cached | None = None
    completion_tokens_details: _Thought | None = None


class _Answer(Struct, forbid_unknown_fields=True):
    choices: tuple[_Choice]
    id: str | None = None
    model: str | None = None
    created: int | None = None
    object: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    usage: _Usage | None = None
    timings: dict[str, Any] | None = None
    prompt_logprobs: None = None
    prompt_token_ids: None = None
    prompt_text: None = None
    kv_transfer_params: None = None
    ec_transfer_params: None = None
    metrics: None = None


_decode = msgspec.json.Decoder(_Answer).decode


def read_usual(body: bytes) -> list[Delta] | None:
    """The deltas of ``body``, a usual answer; None where the general reader has to look at it, be it right or wrong."""
    try:
        answer = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    choice = answer.choices[0]
    message = choice.message
    calls = message.tool_calls or ()
    if not choice.finish_reason or not _plain(calls):
        return None
    marks = {}
    if answer.system_fingerprint is not None:
        marks["system_fingerprint"] = answer.system_fingerprint
    if answer.service_tier is not None:
        marks["service_tier"] = answer.service_tier
    deltas: list[Delta] = [
        Started(id=answer.id, model=answer.model, created=answer.created or None, extra=marks)
    ]
    if message.content:
        deltas.append(TextDelta(message.content))
    for index, call in enumerate(calls):
        function = call.function
        deltas.append(CallDelta(index=index, id=call.id, name=function.name, arguments=function.arguments))
    usage = answer.usage
    if usage is not None:
        if usage.total_tokens not in (0, usage.prompt_tokens + usage.completion_tokens):
            return None
        deltas.append(_read_usage(usage))
    extra = {"timings": answer.timings} if answer.timings is not None else {}
    deltas.append(Finish(reason=choice.finish_reason, extra=extra, body=body))
    return deltas


def _read_usage(usage: _Usage) -> Usage:
    cached, thought = usage.prompt_tokens_details, usage.completion_tokens_details
    extra: dict[str, Any] = {}
    if cached is not None:
        extra["prompt_tokens_details"] = {"cached_tokens": cached.cached_tokens}
    if thought is not None:
        extra["completion_tokens_details"] = {"reasoning_tokens": thought.reasoning_tokens}
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=0 if cached is None else cached.cached_tokens,
        extra=extra,
    )


def _plain(calls: list[_Call] | tuple[()]) -> bool:
    """Whether every call is a call of its own: with an id that no other has, a name and arguments."""
    for call in calls:
        function = call.function
        if not (call.id and function.name and function.arguments):
            return False
    return len(calls) < 2 or len({call.id for call in calls}) == len(calls)
