"""The loop inside :func:`forge.core.inference.run_inference`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forge.clients.backend import Backend, Tokenizer
from forge.clients.base import ChunkType, StreamChunk, TokenUsage, _capture_usage
from forge.context.manager import ContextManager
from forge.core.calls import LLMResponse, TextResponse, ToolCall
from forge.core.client_answer import OnChunk, must_be_an_answer, read_stream
from forge.core.constrained_attempt import Answered, can_constrain, constrained_attempt
from forge.core.messages import Message, MessageType
from forge.core.reasoning import (
    DEFAULT_REASONING_REPLAY,
    filter_openai_reasoning_messages,
    fold_and_serialize,
)
from forge.core.report import ModelCall, RunReport
from forge.core.transcript import CallIds, OnMessage, answer, assistant, call_messages, user
from forge.dialects.reply import RejectedSegment
from forge.engine.text_check import TextFault, text_correction
from forge.engine.tone import Tone
from forge.errors import ToolCallError
from forge.guardrails.error_tracker import ErrorTracker
from forge.guardrails.nudge import TOOL_ERROR_KINDS, Nudge
from forge.guardrails.response_validator import JudgedCall, ResponseValidator, ValidationResult
from forge.prompts.nudges import ARGUMENTS_PREFIX, UNKNOWN_TOOL_PREFIX
from forge.schema.spec import as_tools


@dataclass
class InferenceResult:
    """An answer that passed, and what it took to get it.

    ``new_messages`` are the rejected answers and corrections on the way. ``usage`` is that of the last attempt.
    ``judged`` has all calls of the answer in order; only with ``accept_partial`` may some of them carry a
    correction, and ``response`` then has the others. ``text`` is what the model wrote beside calls found in text.
    """

    response: LLMResponse
    new_messages: list[Message] = field(default_factory=list)
    usage: TokenUsage | None = None
    tool_call_counter: int = 0
    attempts: int = 1
    judged: list[JudgedCall] = field(default_factory=list)
    text: str = ""


class _ExhaustedError(ToolCallError):
    """With the usage of the last attempt; doors that report usage read it."""

    usage: TokenUsage | None = None


def prepare_backend_messages(
    messages: Sequence[Message],
    api_format: str,
    reasoning_replay: str = DEFAULT_REASONING_REPLAY,
    raw_openai_messages: Sequence[dict[str, Any]] | None = None,
    use_raw_messages: bool = False,
) -> list[dict[str, Any]]:
    """The list that goes to a client: a caller's own messages where they still hold, else the folded history."""
    if raw_openai_messages is not None and use_raw_messages:
        return filter_openai_reasoning_messages(raw_openai_messages, reasoning_replay)
    return fold_and_serialize(messages, api_format, reasoning_replay)


@dataclass(frozen=True)
class _Call:
    """One model call that came back."""

    response: LLMResponse
    usage: TokenUsage | None
    seconds: float
    constrained: bool
    broken: RejectedSegment | None = None


_PREFIXES = {"unknown_tool": UNKNOWN_TOOL_PREFIX, "tool_arg_validation": ARGUMENTS_PREFIX}


def _nudge_of(result: ValidationResult) -> Nudge:
    assert result.nudge is not None, "a rejected answer has a correction"
    return result.nudge


def _answers(calls: Sequence[ToolCall], nudge: Nudge) -> list[str]:
    """What each call of a rejected batch gets back. Validators of users may know one text for all of them."""
    if len(nudge.corrections) == len(calls):
        return [correction.content for correction in nudge.corrections]
    prefix = _PREFIXES.get(nudge.kind)
    return [f"{prefix} {nudge.content}" if prefix else nudge.content] * len(calls)


@dataclass(frozen=True)
class Place:
    """Where in a run the turn is: the index for compaction, what was done, and the number for new messages."""

    step_index: int
    step_hint: str
    turn: int


@dataclass(frozen=True)
class Extras:
    """What a caller adds to the request. Its own bodies are used only while nothing in them had to be changed."""

    sampling: Mapping[str, Any] | None
    passthrough: Mapping[str, Any] | None
    inbound_anthropic_body: Mapping[str, Any] | None
    raw_openai_messages: list[dict[str, Any]] | None
    raw_openai_tools: list[dict[str, Any]] | None


@dataclass(frozen=True)
class Watchers:
    """Who is told what happens, when it happens."""

    on_chunk: OnChunk | None
    on_message: OnMessage | None
    report: RunReport | None


@dataclass
class Inference:
    """The state of one turn."""

    messages: list[Message]
    client: Any
    context: Any
    validator: ResponseValidator
    tracker: ErrorTracker
    tools: list[Any]
    ids: CallIds
    place: Place
    extras: Extras
    headers: Mapping[str, str] | None
    reasoning_replay: str
    accept_partial: bool
    watchers: Watchers
    stream: bool
    attempt: int = 0
    untouched: bool = True
    new_messages: list[Message] = field(default_factory=list)

    async def run(self, max_attempts: int | None) -> InferenceResult | None:
        """Make model calls until one passes; None when ``max_attempts`` are used up."""
        if isinstance(self.context, ContextManager):
            self.context.count_tools(self.tools)
        while max_attempts is None or self.attempt < max_attempts:
            call = await self._call()
            self.attempt += 1
            self._count(call.usage)
            result = self._validate(call, await self._tone())
            partial = self.accept_partial and any(entry.correction is None for entry in result.judged)
            self._note(result, call, partial=partial)
            if result.nudge is None:
                self.tracker.reset_retries()
                return self._result(result, call.usage)
            self._drain(call.response, result, call.usage)
            if partial:
                return self._result(result, call.usage)
            for message in self._rejection(call.response, result):
                self._append(message)
            await self._announce_retry(result.nudge)
        return None

    # -- before the call --------------------------------------------------------------------------------

    def _outgoing(self) -> list[dict[str, Any]]:
        """A new list for each attempt: clients and their doubles may keep it."""
        compacted = self.context.maybe_compact(
            self.messages, step_index=self.place.step_index, step_hint=self.place.step_hint
        )
        self.untouched = self.attempt == 0
        if compacted is not self.messages:
            self.messages[:] = compacted
            self.untouched = False
        warning = self.context.check_thresholds(self.messages)
        self.untouched = self.untouched and not warning
        outgoing = prepare_backend_messages(
            self.messages,
            getattr(self.client, "api_format", "ollama"),
            self.reasoning_replay,
            self.extras.raw_openai_messages,
            use_raw_messages=self.untouched,
        )
        if warning:
            message = user(warning, MessageType.CONTEXT_WARNING, self.place.turn)
            outgoing.append({"role": "user", "content": warning})
            self.new_messages.append(message)
            self._show(message)
        return outgoing

    async def _is_last_chance(self) -> bool:
        """Whether the next failure would spend a budget, and the backend can make one impossible."""
        tracker = self.tracker
        if not self.tools or not isinstance(self.client, Backend):
            return False
        # At a turn's start the other counter may stand for tools that failed, which says nothing about arguments.
        last = tracker.on_last_rung(of_tool_errors=self.attempt > 0)
        return last and await can_constrain(self.client)

    async def _count_texts(self) -> None:
        """Have long new texts counted by the server's tokenizer, where the client has one."""
        if not isinstance(self.client, Tokenizer) or not isinstance(self.context, ContextManager):
            return
        for text in self.context.uncounted(self.messages):
            tokens = await self.client.count_tokens(text, headers=self.headers)
            if tokens is None:
                return
            self.context.learn_tokens(text, tokens)

    async def _call(self) -> _Call:
        await self._count_texts()
        outgoing = self._outgoing()
        constrained = await self._is_last_chance()
        begin = time.perf_counter()
        with _capture_usage() as captured:
            answered = await (self._ask_constrained(outgoing) if constrained else self._ask(outgoing))
        seconds = time.perf_counter() - begin
        return _Call(answered.response, captured.usage, seconds, constrained, answered.broken)

    # -- the call ---------------------------------------------------------------------------------------

    async def _ask_constrained(self, outgoing: list[dict[str, Any]]) -> Answered:
        fields = {**(self.extras.passthrough or {}), **(self.extras.sampling or {})}
        answered = await constrained_attempt(self.client, outgoing, self.tools, fields, self.headers)
        if self.watchers.on_chunk is not None:
            # It is not streamed: what is half written may still turn out to be cut off. But it ends like any other.
            await self.watchers.on_chunk(StreamChunk(ChunkType.FINAL, response=answered.response))
        return answered

    async def _ask(self, outgoing: list[dict[str, Any]]) -> Answered:
        # Users' doubles take exactly these keywords; what is optional is passed only when it is given.
        options: dict[str, Any] = {
            "sampling": self.extras.sampling,
            "passthrough": self.extras.passthrough,
            "inbound_anthropic_body": self.extras.inbound_anthropic_body if self.untouched else None,
        }
        if self.extras.raw_openai_tools is not None and self.attempt == 0:
            options["raw_openai_tools"] = self.extras.raw_openai_tools
        if self.headers is not None:
            options["extra_headers"] = self.headers
        if not self.stream:
            response: LLMResponse = await self.client.send(outgoing, tools=self.tools, **options)
            return Answered(response)
        chunks = self.client.send_stream(outgoing, tools=self.tools, **options)
        return Answered(await read_stream(chunks, self.watchers.on_chunk, self.messages, self.place.turn))

    # -- after the call ---------------------------------------------------------------------------------

    def _count(self, usage: TokenUsage | None) -> None:
        if usage is None:
            self.context.invalidate_usage()
        else:
            cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
            self.context.update_token_count(usage.prompt_tokens + cached)

    async def _tone(self) -> Tone:
        return Tone(self.tracker.level, examples=not await can_constrain(self.client))

    def _validate(self, call: _Call, tone: Tone) -> ValidationResult:
        response = call.response
        must_be_an_answer(response)
        if call.broken is not None:
            fault = TextFault(reason="cut_off", broken=call.broken)
            content = text_correction(fault, as_tools(self.tools), must_call=True, tone=tone)
            return ValidationResult(None, Nudge("user", content, "retry"), needs_retry=True)
        if isinstance(response, list) and not response:
            response = TextResponse(
                ""
            )  # a validator has nothing against no calls at all, but no answer is no answer
        if type(self.validator).validate is ResponseValidator.validate:
            return self.validator.validate(response, tone=tone)
        return self.validator.validate(response)  # one of a caller's own, who knows this much of it

    def _drain(self, response: LLMResponse, result: ValidationResult, usage: TokenUsage | None) -> None:
        """Charge the budget that a rejected answer drains; raise when it is spent."""
        tracker, nudge = self.tracker, _nudge_of(result)
        if nudge.kind in TOOL_ERROR_KINDS:
            tracker.record_result(success=False)
            spent, budget = tracker.tool_errors_exhausted, f"max_tool_errors={tracker.max_tool_errors}"
        else:
            tracker.record_retry()
            spent, budget = tracker.retries_exhausted, f"max_retries={tracker.max_retries}"
        if not spent:
            return
        raw = (
            response.content
            if isinstance(response, TextResponse)
            else str([(c.tool, c.args) for c in response])
        )
        what = ", text instead of a call," if isinstance(response, TextResponse) else ""
        sentence = f"Exhausted after {budget}: the last answer{what} was rejected ({nudge.kind})"
        error = _ExhaustedError(sentence, raw)
        error.usage = usage
        failed = self._rejection(response, result)
        error.messages = [*self.messages, *failed]
        for message in failed:
            self._show(message)
        raise error

    def _rejection(self, response: LLMResponse, result: ValidationResult) -> list[Message]:
        """The rejected answer and its correction, as they go into the conversation."""
        nudge = _nudge_of(result)
        calls = [entry.call for entry in result.judged]
        if not calls and isinstance(response, list):
            calls = response
        if not calls:
            text = response.content if isinstance(response, TextResponse) else ""
            return [
                assistant(text or "", MessageType.TEXT_RESPONSE, self.place.turn),
                user(nudge.content, MessageType.RETRY_NUDGE, self.place.turn),
            ]
        ids = [self.ids.assign(call) for call in calls]
        return [
            *call_messages(calls, ids, self.place.turn, result.text),
            *(
                answer(call, call_id, text, MessageType.RETRY_NUDGE, self.place.turn)
                for call, call_id, text in zip(calls, ids, _answers(calls, nudge), strict=True)
            ),
        ]

    async def _announce_retry(self, nudge: Nudge) -> None:
        if self.watchers.on_chunk is not None:
            await self.watchers.on_chunk(StreamChunk(ChunkType.RETRY, content=nudge.kind))

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.new_messages.append(message)
        self._show(message)

    def _show(self, message: Message) -> None:
        if self.watchers.on_message is not None:
            self.watchers.on_message(message)

    def _note(self, response: ValidationResult, call: _Call, *, partial: bool) -> None:
        if self.watchers.report is None:
            return
        verdict = "accepted" if response.nudge is None else "partial" if partial else response.nudge.kind
        sources = (entry.call.source for entry in response.judged if entry.correction is None)
        self.watchers.report.model_calls.append(
            ModelCall(
                step=self.place.turn,
                attempt=self.attempt,
                verdict=verdict,
                seconds=call.seconds,
                prompt_tokens=call.usage.prompt_tokens if call.usage else None,
                completion_tokens=call.usage.completion_tokens if call.usage else None,
                constrained=call.constrained,
                fixes=tuple(fix for source in sources if source for fix in source.fixes),
            )
        )

    def _result(self, result: ValidationResult, usage: TokenUsage | None) -> InferenceResult:
        judged = result.judged or [JudgedCall(call) for call in result.tool_calls or ()]
        good = [entry.call for entry in judged if entry.correction is None]
        response: LLMResponse = good if result.tool_calls is None else result.tool_calls
        return InferenceResult(
            response=TextResponse(result.text) if result.is_answer else response,
            new_messages=self.new_messages,
            usage=usage,
            tool_call_counter=self.ids.counter,
            attempts=self.attempt,
            judged=judged,
            text=result.text,
        )
