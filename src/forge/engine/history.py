"""The calls that a conversation holds, with what each of them gave. Pure: the transcript is all there is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from forge.core.request import Call, ChatMessage, Opaque, Result, Text

_NO_ERROR: Final = r"(?![ -](?:rates?|counts?|handl\w+|logs?|logging|messages|budgets?|free|types?|classes|codes|pages?|bars?)\b)"
"""Behind "error": a word with which it is what a result is about."""
_ERROR: Final = re.compile(
    rf"\s*(?:\[?error\b{_NO_ERROR}|\[\w*error\]|\[notrun\]|<(?:tool_use_)?error>|traceback \(most recent call last\)"
    r"|this call was not run\b"
    r'|\{\s*"(?:error|is_?error)"\s*:(?!\s*(?:null\b|false\b|0\s*[,}]|""|\[\s*\]|\{\s*\})))',
    re.IGNORECASE,
)


class PastCall(Struct):
    """An earlier call. ``written`` is the text of its arguments, which may be no JSON.

    ``result`` is None while there is none; ``failed``: the result says that the call did not do what it should.
    """

    name: str
    written: str
    result: str | None = None
    failed: bool = False

    @property
    def arguments(self) -> Any:
        """The arguments decoded, or the text itself where it is no JSON."""
        return decoded_arguments(self.written)


def past_calls(messages: Sequence[ChatMessage]) -> list[PastCall]:
    """The calls of a conversation in the order in which they were made, paired with their results by id."""
    made: list[PastCall] = []
    waiting: dict[str, list[PastCall]] = {}
    for message in messages:
        seen = "".join(
            bytes(part.raw).decode("latin-1") for part in message.parts if isinstance(part, Opaque)
        )
        for part in message.parts:
            if isinstance(part, Call):
                call = PastCall(part.name, part.arguments)
                made.append(call)
                waiting.setdefault(part.id, []).append(call)
            elif isinstance(part, Result) and waiting.get(part.call_id):
                call = waiting[part.call_id].pop(0)
                # What is not text (an image) is part of what came back as well.
                call.result = part.content + seen
                call.failed = part.is_error or _ERROR.match(part.content) is not None
    return made


def since_the_user_spoke(messages: Sequence[ChatMessage], most_calls: int) -> Sequence[ChatMessage]:
    """What came after the user's last word, or the end of it with ``most_calls`` calls, or a few more, if that is less.

    Text beside results is no word of the user's: clients add reminders there.
    """
    calls = 0
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if message.role == "user" and _is_a_word(message):
            return messages[number + 1 :]
        if message.role == "assistant":
            calls += sum(isinstance(part, Call) for part in message.parts)
            if calls >= most_calls:
                return messages[number:]
    return messages


def _is_a_word(message: ChatMessage) -> bool:
    texts = any(isinstance(part, Text) for part in message.parts)
    return texts and not any(isinstance(part, Result) for part in message.parts)


def decoded_arguments(arguments: str) -> Any:
    """Arguments as a value, or the text itself where it is no JSON."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
