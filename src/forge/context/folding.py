"""Calls whose results went long ago are folded into one line, so that a long conversation has a floor it can reach.

A removed result leaves a line, and its call stays. After many turns these skeletons alone fill the budget, and every
turn would compact again. So what an earlier compaction removed is folded by the next one: of several such calls in
turn the last one stays, and its line says what else was called. Roles keep alternating as they did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from forge.context.eligibility import FIRST_ELIGIBLE
from forge.context.estimate import message_size
from forge.core.messages import Message, MessageType

_MAX_NAMES = 12
_NOTE = " Before this, calls of "
_NOTE_END = " had results that were removed as well; call them again if you need them."
_COUNTED = re.compile(r"(\S+) ×(\d+)")


class Folded(NamedTuple):
    """The messages to go on with, where the recent ones begin now, and the bytes that were saved."""

    messages: list[Message]
    end: int
    saved: int


def fold(messages: Sequence[Message], end: int, step_hint: str = "") -> Folded:
    """Fold the calls before ``end`` whose results an earlier compaction removed.

    ``step_hint`` says in one line which steps are done; it goes into the note, since the calls that did them go.
    """
    groups = _removed_groups(messages, end)
    if len(groups) < 2:
        return Folded(list(messages), end, 0)
    counts: Counter[str] = Counter()
    dropped: set[int] = set()
    for group in groups[:-1]:
        counts.update(call.name for call in messages[group[0]].tool_calls or ())
        for index in group[1:]:
            counts.update(_noted(messages[index].content))
        dropped.update(group)
        dropped.update(_thinking_before(messages, group[0]))
    keeper = groups[-1][-1]
    counts.update(_noted(messages[keeper].content))
    result = [
        _with_note(message, counts, step_hint) if index == keeper else message
        for index, message in enumerate(messages)
        if index not in dropped
    ]
    saved = sum(message_size(messages[index]) for index in dropped)
    saved += message_size(messages[keeper]) - message_size(result[keeper - _count_below(dropped, keeper)])
    if saved <= 0:
        return Folded(list(messages), end, 0)  # the note would take more than it spares
    return Folded(result, end - len(dropped), saved)


def _removed_groups(messages: Sequence[Message], end: int) -> list[list[int]]:
    """Positions of each call message before ``end`` and its results, where all of those were removed."""
    groups: list[list[int]] = []
    index = FIRST_ELIGIBLE
    while index < end:
        calls = messages[index].tool_calls
        if not calls:
            index += 1
            continue
        open_calls = {call.call_id for call in calls}
        group = [index]
        index += 1
        while index < end and open_calls and messages[index].metadata.type is MessageType.SUMMARY:
            open_calls.discard(messages[index].tool_call_id or "")
            group.append(index)
            index += 1
        if not open_calls:
            groups.append(group)
    return groups


def _thinking_before(messages: Sequence[Message], index: int) -> list[int]:
    """The thinking that led to a call."""
    found: list[int] = []
    while index - 1 >= FIRST_ELIGIBLE and messages[index - 1].metadata.type is MessageType.REASONING:
        index -= 1
        found.append(index)
    return found


def _noted(content: str) -> dict[str, int]:
    """The calls that a line already stands for."""
    note = content.partition(_NOTE)[2].partition(_NOTE_END)[0]
    return {name: int(times) for name, times in _COUNTED.findall(note)}


def _with_note(message: Message, counts: Counter[str], step_hint: str) -> Message:
    names = ", ".join(f"{name} ×{times}" for name, times in counts.most_common(_MAX_NAMES))
    own = message.content.partition(_NOTE)[0]
    hint = f" {step_hint}" if step_hint else ""
    return Message(
        message.role,
        f"{own}{_NOTE}{names}{_NOTE_END}{hint}",
        message.metadata,
        message.tool_name,
        message.tool_call_id,
        message.tool_calls,
    )


def _count_below(positions: set[int], index: int) -> int:
    return sum(position < index for position in positions)
