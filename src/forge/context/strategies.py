"""Ways to make a conversation smaller.

All of them keep the system prompt, the first user message and the newest turns, never modify their input, and never
leave a call without its result or a result without its call. What is taken away is said in its place.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from forge.context.eligibility import FIRST_ELIGIBLE, NUDGES, eligible_end, paired_results
from forge.context.estimate import BYTES_PER_TOKEN, message_size
from forge.context.estimate import estimate_tokens as _estimate_tokens
from forge.context.folding import fold
from forge.context.oversize import fit_recent
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType

DEEPER = 0.25
"""Part of the budget by which a second compaction goes below the threshold, where the caller chose no depth."""


class CompactStrategy(ABC):
    """A way to compact. Subclass it and write :meth:`compact`."""

    @abstractmethod
    def compact(
        self, messages: list[Message], budget_tokens: int, *, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        """Return the messages to go on with and the phase that was needed; 0 means that nothing was done.

        ``messages`` must not be modified. ``step_hint`` says in one line which steps are done.
        """

    def _compact_with_initial_usage(
        self, messages: list[Message], budget_tokens: int, *, initial_tokens: int, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        """Like :meth:`compact`, knowing how many tokens ``messages`` really are; the manager calls this."""
        del initial_tokens
        return self.compact(messages, budget_tokens, step_hint=step_hint)


class NoCompact(CompactStrategy):
    """Never compacts."""

    def compact(
        self, messages: list[Message], budget_tokens: int, *, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        """A copy of the messages, phase 0."""
        del budget_tokens, step_hint
        return list(messages), 0


class SlidingWindowCompact(CompactStrategy):
    """Drops everything between the first user message and the last ``keep_recent`` turns, except the question
    that is being worked on.

    Args:
        keep_recent: turns to keep; 0 keeps none.
        compact_threshold: fraction of the budget at which to act.
    """

    def __init__(self, keep_recent: int, compact_threshold: float = 0.75) -> None:
        _check(keep_recent, (compact_threshold,))
        self.keep_recent = keep_recent
        self.compact_threshold = compact_threshold

    def compact(
        self, messages: list[Message], budget_tokens: int, *, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        """Compact by an estimate of the messages' size; phase 1 once the threshold is reached."""
        return self._compact_with_initial_usage(
            messages, budget_tokens, initial_tokens=_estimate_tokens(messages), step_hint=step_hint
        )

    def _compact_with_initial_usage(
        self, messages: list[Message], budget_tokens: int, *, initial_tokens: int, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        del step_hint
        if initial_tokens < int(budget_tokens * self.compact_threshold):
            return list(messages), 0
        end = eligible_end(messages, self.keep_recent)
        question = _current_question(messages, end)
        return [*messages[:FIRST_ELIGIBLE], *question, *messages[max(end, FIRST_ELIGIBLE) :]], 1


class TieredCompact(CompactStrategy):
    """Three phases, each of which takes more; it stops as soon as the result fits.

    1. Corrections go, together with the calls that they rejected; long tool results are cut to their beginning.
    2. Tool results go; a line in their place says how to get them back.
    3. Thinking and texts of the model go as well; if that is not enough for the budget itself, new tool results
       that are very long are cut in their middle.

    Args:
        keep_recent: turns to leave alone; 0 leaves none.
        compact_threshold: fraction of the budget at which to act, and below which a phase's result fits.
        phase_thresholds: such a fraction for each phase instead: the first starts phase 1, the second and third are
            what the results of phases 1 and 2 must stay below. Lower later ones compact deeper and less often,
            which keeps a server's prompt cache valid for longer.
    """

    TRUNCATE_CHARS = 200

    def __init__(
        self,
        keep_recent: int = 2,
        compact_threshold: float = 0.75,
        phase_thresholds: tuple[float, float, float] | None = None,
    ) -> None:
        thresholds = (compact_threshold,) * 3 if phase_thresholds is None else tuple(phase_thresholds)
        if len(thresholds) != 3:
            raise ValueError("phase_thresholds must be three fractions")
        _check(keep_recent, thresholds)
        self.keep_recent = keep_recent
        self.compact_threshold = compact_threshold
        self.phase_thresholds = phase_thresholds
        self._thresholds = thresholds

    def compact(
        self, messages: list[Message], budget_tokens: int, *, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        """Compact by an estimate of the messages' size."""
        return self._compact_with_initial_usage(
            messages, budget_tokens, initial_tokens=_estimate_tokens(messages), step_hint=step_hint
        )

    def _compact_with_initial_usage(
        self, messages: list[Message], budget_tokens: int, *, initial_tokens: int, step_hint: str = ""
    ) -> tuple[list[Message], int]:
        if initial_tokens < int(budget_tokens * self._thresholds[0]):
            return list(messages), 0
        end = self._find_eligible_end(messages, self.keep_recent)
        limits = [int(budget_tokens * part) for part in self._targets(messages, end)]
        # The server's count and the estimate differ by a factor; all phases are measured on the server's scale.
        size = sum(map(message_size, messages))
        scale = max(initial_tokens * BYTES_PER_TOKEN / max(size, 1), 1.0) / BYTES_PER_TOKEN
        result: list[Message] = messages
        source: list[Message] = messages
        paired = paired_results(source)
        rejected = _rejected_calls(source, end, paired)
        for phase, shrink in ((1, self._truncate), (2, _stub)):
            if phase == 2:
                source, end, folded = fold(messages, end, step_hint)
                if folded:
                    size -= folded
                    paired = paired_results(source)
                    rejected = _rejected_calls(source, end, paired)
            if phase == 1 and (size - self._most_saved(source, end, rejected)) * scale >= limits[0]:
                continue  # phase 1 cannot be enough, so a long conversation is spared its cost
            result, saved = _without_corrections(source, end, paired, rejected, shrink)
            tokens = int((size - saved) * scale) if result != messages else initial_tokens
            if tokens < limits[phase - 1]:
                return result, phase
        recent = len(source) - max(end, FIRST_ELIGIBLE)
        result = _without_prose(result, len(result) - recent)
        tokens = int(sum(map(message_size, result)) * scale)
        if tokens > budget_tokens:
            excess = int((tokens - budget_tokens) / (scale * BYTES_PER_TOKEN)) + 1
            result = fit_recent(result, len(result) - recent, excess)
        return result, 3

    def _targets(self, messages: Sequence[Message], end: int) -> Sequence[float]:
        """What the results of phases 1 and 2 must stay below, as fractions of the budget.

        A conversation that was compacted before is cut deeper, so that the next time is far away: each time changes
        its beginning, and costs the server what it had in its prompt cache. Thresholds that a caller chose hold.
        """
        if self.phase_thresholds is None and any(map(_was_cut, messages[FIRST_ELIGIBLE:end])):
            return [max(threshold - DEEPER, 0.0) for threshold in self._thresholds[1:]]
        return self._thresholds[1:]

    @staticmethod
    def _find_eligible_end(messages: Sequence[Message], keep_recent: int) -> int:
        return eligible_end(messages, keep_recent)

    def _most_saved(self, messages: Sequence[Message], end: int, rejected: set[str]) -> int:
        """An upper bound of the bytes that phase 1 saves."""
        saved = 0
        for index in range(FIRST_ELIGIBLE, end):
            message = messages[index]
            if message.metadata.type is MessageType.TOOL_RESULT:
                saved += max(message_size(message) - self.TRUNCATE_CHARS, 0)
            elif rejected or message.metadata.type in NUDGES:
                saved += message_size(message)
        return saved

    def _truncate(self, message: Message, *, paired: bool) -> Message | None:
        del paired  # a result that was only cut still answers its call
        limit = self.TRUNCATE_CHARS
        removed = len(message.content) - limit
        if removed <= 0 or message.content.startswith(_TRUNCATED, limit):
            return message
        note = f"{_TRUNCATED} {removed} chars removed{_how_to_get_back(message)}]"
        return _with_content(message, message.content[:limit] + note, message.metadata)


_TRUNCATED = "\n[Truncated —"


def _was_cut(message: Message) -> bool:
    """Whether an earlier compaction took something of a message."""
    kind = message.metadata.type
    return kind is MessageType.SUMMARY or (
        kind is MessageType.TOOL_RESULT
        and message.content.startswith(_TRUNCATED, TieredCompact.TRUNCATE_CHARS)
    )


def _stub(message: Message, *, paired: bool) -> Message | None:
    """The line that stands for a removed result, so that its call stays answered; None where there is no call."""
    if not paired:
        return None
    note = f"[Removed — {len(message.content)} chars to save space{_how_to_get_back(message)}]"
    old = message.metadata
    meta = MessageMeta(MessageType.SUMMARY, old.step_index, old.type, old.token_estimate)
    return _with_content(message, note, meta)


def _with_content(message: Message, content: str, metadata: MessageMeta) -> Message:
    # dataclasses.replace would take most of the time of compacting a long conversation.
    return Message(
        message.role, content, metadata, message.tool_name, message.tool_call_id, message.tool_calls
    )


def _how_to_get_back(message: Message) -> str:
    return f"; call {message.tool_name} again if you need them" if message.tool_name else ""


def _rejected_calls(messages: Sequence[Message], end: int, paired: set[int]) -> set[str]:
    """Ids of old calls whose result is a correction; both go."""
    return {
        messages[index].tool_call_id or ""
        for index in paired
        if FIRST_ELIGIBLE <= index < end and messages[index].metadata.type in NUDGES
    }


class _Shrink(Protocol):
    def __call__(self, message: Message, *, paired: bool) -> Message | None: ...


def _without_corrections(
    messages: Sequence[Message], end: int, paired: set[int], rejected: set[str], shrink: _Shrink
) -> tuple[list[Message], int]:
    """Old corrections and the calls that they rejected removed, old results shrunk; and the bytes that this saved."""
    result = list(messages[:FIRST_ELIGIBLE])
    saved = 0
    for index in range(FIRST_ELIGIBLE, end):
        message = messages[index]
        kind = message.metadata.type
        kept: Message | None = message
        if kind is MessageType.TOOL_RESULT:
            kept = shrink(message, paired=index in paired)
        elif kind in NUDGES:
            kept = None
        elif rejected and message.tool_calls:
            kept = _without_calls(message, rejected)
            if kept is None:
                saved += _drop_reasoning(result)
        if kept is not message:
            saved += message_size(message) - (message_size(kept) if kept is not None else 0)
        if kept is not None:
            result.append(kept)
    result.extend(messages[max(end, FIRST_ELIGIBLE) :])
    return result, saved


def _without_calls(message: Message, rejected: set[str]) -> Message | None:
    calls = message.tool_calls or []
    kept = [call for call in calls if call.call_id not in rejected]
    if len(kept) == len(calls):
        return message
    return dataclasses.replace(message, tool_calls=kept) if kept else None


def _without_prose(messages: list[Message], end: int) -> list[Message]:
    """The model's thinking and texts removed from the messages before ``end``."""
    prose = (MessageType.REASONING, MessageType.TEXT_RESPONSE)
    return [
        message
        for index, message in enumerate(messages)
        if not (FIRST_ELIGIBLE <= index < end and message.metadata.type in prose)
    ]


def _drop_reasoning(result: list[Message]) -> int:
    """Thinking that led only to rejected calls goes with them; returns its bytes."""
    size = 0
    while len(result) > FIRST_ELIGIBLE and result[-1].metadata.type is MessageType.REASONING:
        size += message_size(result.pop())
    return size


def _current_question(messages: Sequence[Message], end: int) -> list[Message]:
    """The last user message, if it lies in what is about to be dropped."""
    for index in range(len(messages) - 1, FIRST_ELIGIBLE - 1, -1):
        message = messages[index]
        if message.role is MessageRole.USER and message.metadata.type is MessageType.USER_INPUT:
            return [message] if index < end else []
    return []


def _check(keep_recent: int, thresholds: Sequence[float]) -> None:
    if keep_recent < 0:
        raise ValueError("keep_recent must not be negative")
    if any(not threshold >= 0 for threshold in thresholds):
        raise ValueError("thresholds must be fractions of the budget, not negative")
