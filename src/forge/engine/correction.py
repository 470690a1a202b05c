"""The messages that a retry appends: the rejected answer as the model may see it, and what was wrong with it.

Nothing before them is touched, so the backend's prompt cache keeps the whole prefix. Thinking that the backend signed
stays at the head of the answer: Anthropic refuses calls that it thought about without their thoughts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from forge.core.request import Call, ChatMessage, Part, Result, Text
from forge.engine.answer import Answer
from forge.engine.call_check import prefixed
from forge.engine.judge import Verdict


def call_ids(messages: Iterable[ChatMessage]) -> set[str]:
    """The ids of all calls in ``messages``."""
    return {part.id for message in messages for part in message.parts if isinstance(part, Call)}


def correction_messages(
    answer: Answer, verdict: Verdict, new_id: Callable[[], str], taken: Collection[str] = ()
) -> tuple[ChatMessage, ...]:
    """Rejected answer and correction: tool results where there were calls, a user message otherwise.

    ``taken`` are the ids of the calls before it: some servers number the calls of each answer anew.
    """
    if verdict.calls:
        return _on_the_tool_channel(answer, verdict, new_id, set(taken))
    messages = (ChatMessage(role="user", parts=(Text(verdict.correction),)),)
    text = "".join(answer.raw_text).strip()
    if not text:
        return messages
    return (ChatMessage(role="assistant", parts=(*answer.signed, Text(text))), *messages)


def _on_the_tool_channel(
    answer: Answer, verdict: Verdict, new_id: Callable[[], str], taken: set[str]
) -> tuple[ChatMessage, ...]:
    parts: list[Part] = [*answer.signed]
    if text := answer.plain_text.strip():
        parts.append(Text(text))
    results: list[ChatMessage] = []
    for call in verdict.calls:
        call_id = call.id if call.id and call.id not in taken else new_id()
        taken.add(call_id)
        parts.append(Call(id=call_id, name=call.name, arguments=call.arguments))
        content = prefixed(call.fault, call.correction)
        result = Result(call_id=call_id, content=content, name=call.name, is_error=True)
        results.append(ChatMessage(role="tool", parts=(result,)))
    return (ChatMessage(role="assistant", parts=tuple(parts)), *results)
