"""The last resort of compaction: new tool results that are too long to fit are cut in their middle."""

from __future__ import annotations

from collections.abc import Sequence

from forge.context.estimate import BYTES_PER_TOKEN, message_size
from forge.core.messages import Message, MessageType

LONG_RESULT = 2000
"""Characters of a result that is left alone, however little room there is."""

_KEPT_AT_LEAST = 1000


def fit_recent(messages: Sequence[Message], start: int, excess_tokens: int) -> list[Message]:
    """Cut the longest tool results from ``start`` on until ``excess_tokens`` are saved, or nothing long is left.

    Beginning and end are kept, since files and logs tell most there; a note in between says what is missing.
    """
    result = list(messages)
    excess = excess_tokens * BYTES_PER_TOKEN
    long = [i for i in range(start, len(result)) if _is_long(result[i])]
    for index in sorted(long, key=lambda i: len(result[i].content), reverse=True):
        if excess <= 0:
            break
        before = message_size(result[index])
        result[index] = _cut(result[index], max(len(result[index].content) - excess - 100, _KEPT_AT_LEAST))
        excess -= before - message_size(result[index])
    return result


def _is_long(message: Message) -> bool:
    return message.metadata.type is MessageType.TOOL_RESULT and len(message.content) > LONG_RESULT


def _cut(message: Message, keep: int) -> Message:
    text = message.content
    head = keep * 2 // 3
    tail = keep - head
    note = f"\n[Truncated — {len(text) - keep} chars removed here; ask for a smaller part if you need them]\n"
    return Message(
        message.role,
        text[:head] + note + text[len(text) - tail :],
        message.metadata,
        message.tool_name,
        message.tool_call_id,
        message.tool_calls,
    )
