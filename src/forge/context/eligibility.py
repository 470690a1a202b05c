"""Which messages compaction may touch, and which belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forge.core.messages import Message, MessageRole, MessageType

# A tuple: it is searched by identity, while a set would call the enum's hash, which is slow.
NUDGES = (MessageType.STEP_NUDGE, MessageType.PREREQUISITE_NUDGE, MessageType.RETRY_NUDGE)

FIRST_ELIGIBLE = 2
"""The system prompt and the first user message are never touched."""


def eligible_end(messages: Sequence[Message], keep_recent: int) -> int:
    """The index before which messages are old: the last ``keep_recent`` turns begin there.

    A turn is a run of messages with one step index. Going by position and not by the index's value keeps this
    right in conversations whose numbering started again; failed attempts belong to the turn that they led to.
    """
    if keep_recent <= 0:
        return len(messages)
    turns = 0
    end = FIRST_ELIGIBLE
    for start, failed in _groups_backwards(messages):
        if turns and failed:
            end = start
            continue
        if turns == keep_recent:
            return end
        turns += 1
        end = start
    return FIRST_ELIGIBLE


def _groups_backwards(messages: Sequence[Message]) -> Iterator[tuple[int, bool]]:
    """Runs of messages with one step index, the last one first: where each starts, and whether it only failed."""
    start = len(messages)
    current: int | None = None
    answered = nudged = progressed = False
    for index in range(len(messages) - 1, FIRST_ELIGIBLE - 1, -1):
        message = messages[index]
        step, kind = message.metadata.step_index, message.metadata.type
        if step is None:
            continue
        if step != current:
            if current is not None:
                yield start, answered and nudged and not progressed
            current = step
            answered = nudged = progressed = False
        start = index
        answered = answered or message.role is MessageRole.ASSISTANT
        nudged = nudged or kind in NUDGES
        progressed = progressed or kind in _PROGRESS
    if current is not None:
        yield start, answered and nudged and not progressed


_PROGRESS = (MessageType.TOOL_RESULT, MessageType.SUMMARY, MessageType.USER_INPUT)


def paired_results(messages: Sequence[Message]) -> set[int]:
    """Indices of tool messages that answer a call of an assistant message before them."""
    open_calls: set[str] = set()
    paired: set[int] = set()
    for index, message in enumerate(messages):
        if message.tool_calls:
            open_calls = {call.call_id for call in message.tool_calls}
        elif message.tool_call_id is not None and message.tool_call_id in open_calls:
            paired.add(index)
    return paired
