"""Messages that a run appends to its conversation: a model's answers, and what each call got back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forge.core.calls import ToolCall
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo

OnMessage = Callable[[Message], None]

_COUNTED_ID = re.compile(r"call_(\d{9})\Z")


class CallIds:
    """Gives each call of a conversation an id of its own; a backend's id is kept where it is still free."""

    def __init__(self, counter: int = 0, history: Iterable[Message] = ()) -> None:
        self.counter = counter
        self._taken: set[str] = set()
        for message in history:
            for call in message.tool_calls or ():
                self._taken.add(call.call_id)
                match = _COUNTED_ID.match(call.call_id)
                if match:
                    self.counter = max(self.counter, int(match[1]) + 1)

    def assign(self, call: ToolCall) -> str:
        """The id under which this call and its result go into the conversation."""
        call_id = call.id
        if not call_id or call_id in self._taken:
            call_id = f"call_{self.counter:09d}"
            self.counter += 1
        self._taken.add(call_id)
        return call_id


def reasoning_of(calls: Sequence[ToolCall]) -> str:
    """The thinking on any call of a batch, each piece once."""
    pieces = dict.fromkeys(call.reasoning for call in calls if call.reasoning)
    return "\n\n".join(piece for piece in pieces if piece)


def call_messages(calls: Sequence[ToolCall], ids: Sequence[str], step: int, text: str = "") -> list[Message]:
    """A model's thinking, if it showed any, and its calls. ``text`` is what it said beside them."""
    messages = []
    reasoning = reasoning_of(calls)
    if reasoning:
        messages.append(assistant(reasoning, MessageType.REASONING, step))
    infos = [ToolCallInfo(c.tool, _object(c.args), i) for c, i in zip(calls, ids, strict=True)]
    meta = MessageMeta(MessageType.TOOL_CALL, step)
    messages.append(Message(MessageRole.ASSISTANT, text, meta, tool_calls=infos))
    return messages


def answer(call: ToolCall, call_id: str, content: str, kind: MessageType, step: int) -> Message:
    """What a call got back: its result, or why it was not run."""
    return Message(
        MessageRole.TOOL, content, MessageMeta(kind, step), tool_name=call.tool, tool_call_id=call_id
    )


def assistant(content: str, kind: MessageType, step: int | None) -> Message:
    """A message of the model's own."""
    return Message(MessageRole.ASSISTANT, content, MessageMeta(kind, step))


def user(content: str, kind: MessageType, step: int | None = None) -> Message:
    """A message of the user, or of Forge in the user's place."""
    return Message(MessageRole.USER, content, MessageMeta(kind, step))


def last_step(messages: Iterable[Message]) -> int:
    """The highest step index of a conversation; 0 when it has none."""
    return max((message.metadata.step_index or 0 for message in messages), default=0)


def unanswered(messages: Sequence[Message]) -> list[ToolCallInfo]:
    """Calls of the last batch that have no result yet; a server refuses a history with such calls."""
    for index in range(len(messages) - 1, -1, -1):
        calls = messages[index].tool_calls
        if calls:
            answered = {message.tool_call_id for message in messages[index + 1 :]}
            return [call for call in calls if call.call_id not in answered]
    return []


def _object(args: Any) -> dict[str, Any]:
    """Arguments as they may stand in a history: servers refuse any but an object.

    What was none is kept under one key, so that the model still sees what it wrote.
    """
    return args if isinstance(args, dict) else {} if args is None else {"arguments": args}
