"""Which messages compaction may touch, and which belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from forge.core.messages import Message, MessageRole, MessageType

NUDGES = frozenset({MessageType.STEP_NUDGE, MessageType.PREREQUISITE_NUDGE, MessageType.RETRY_NUDGE})

FIRST_ELIGIBLE = 2
"""The system prompt and the first user message are never touched."""


def eligible_end(messages: Sequence[Message], keep_recent: int) -> int:
    """The index before which messages are old: the last ``keep_recent`` turns begin there.

    A turn is a run of messages with one step index. Going by position and not by the index's value keeps this
    right in conversations whose numbering started again; failed attempts belong to the turn that they led to.
    """
    if keep_recent <= 0:
        return len(messages)
    starts = _turn_starts(messages)
    return FIRST_ELIGIBLE if len(starts) <= keep_recent else starts[-keep_recent]


@dataclass
class _Group:
    """A run of messages with one step index."""

    start: int
    step: int
    answered: bool = False
    nudged: bool = False
    progressed: bool = False

    def add(self, message: Message) -> None:
        kind = message.metadata.type
        self.nudged |= kind in NUDGES
        self.answered |= message.role is MessageRole.ASSISTANT
        self.progressed |= kind in (MessageType.TOOL_RESULT, MessageType.SUMMARY, MessageType.USER_INPUT)

    @property
    def failed(self) -> bool:
        return self.answered and self.nudged and not self.progressed


def _turn_starts(messages: Sequence[Message]) -> list[int]:
    groups: list[_Group] = []
    for index in range(FIRST_ELIGIBLE, len(messages)):
        step = messages[index].metadata.step_index
        if step is None:
            continue
        if not groups or groups[-1].step != step:
            groups.append(_Group(index, step))
        groups[-1].add(messages[index])
    return [
        group.start for before, group in pairwise([None, *groups]) if group and not (before and before.failed)
    ]


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
