"""Which of the model's earlier thinking is shown to it again, and in what shape."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

from forge.core.messages import Message, MessageRole, MessageType

ReasoningReplay: TypeAlias = Literal["full", "keep-last", "none"]
REASONING_REPLAY_CHOICES: tuple[str, ...] = get_args(ReasoningReplay)
DEFAULT_REASONING_REPLAY: ReasoningReplay = "none"

REASONING_MESSAGE_FIELDS: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_text")


def validate_reasoning_replay(value: str) -> ReasoningReplay:
    """Return ``value`` if it is one of the choices.

    Raises:
        ValueError: it is not.
    """
    if value not in REASONING_REPLAY_CHOICES:
        raise ValueError(
            f"reasoning_replay must be one of {', '.join(REASONING_REPLAY_CHOICES)}; got {value!r}"
        )
    return cast("ReasoningReplay", value)


def fold_and_serialize(
    messages: Sequence[Message], api_format: str, reasoning_replay: str = DEFAULT_REASONING_REPLAY
) -> list[dict[str, Any]]:
    """Messages in a server's shape, thinking folded into the calls that it led to.

    Thinking before a message with calls becomes the head of that message's content; elsewhere it is an assistant
    message of its own. Blocks that follow each other are joined by a blank line. The result is always a new list
    of new objects.
    """
    kept = _kept_reasoning(messages, validate_reasoning_replay(reasoning_replay))
    wire: list[dict[str, Any]] = []
    held: list[str] = []
    for index, message in enumerate(messages):
        if _is_reasoning(message):
            if index in kept:
                held.append(message.content)
            continue
        entry = message.to_api_dict(format=api_format)
        if held:
            thinking = "\n\n".join(held)
            held.clear()
            if message.tool_calls is not None:
                entry["content"] = f"{thinking}\n\n{entry['content']}" if entry["content"] else thinking
            else:
                wire.append({"role": "assistant", "content": thinking})
        wire.append(entry)
    if held:
        wire.append({"role": "assistant", "content": "\n\n".join(held)})
    return wire


def filter_openai_reasoning_messages(
    messages: Sequence[dict[str, Any]], reasoning_replay: str
) -> list[dict[str, Any]]:
    """A caller's own OpenAI messages with the thinking fields that the policy leaves out removed.

    Only assistant messages are touched, and only the fields of ``REASONING_MESSAGE_FIELDS``. Deep copies.
    """
    policy = validate_reasoning_replay(reasoning_replay)
    copies = copy.deepcopy(list(messages))
    if policy == "full":
        return copies
    thinking = [i for i, m in enumerate(copies) if m.get("role") == "assistant" and _has_reasoning(m)]
    spared = thinking[-1] if policy == "keep-last" and thinking else None
    for index, message in enumerate(copies):
        if message.get("role") == "assistant" and index != spared:
            for field in REASONING_MESSAGE_FIELDS:
                message.pop(field, None)
    return copies


def _is_reasoning(message: Message) -> bool:
    return message.metadata.type is MessageType.REASONING and message.role is MessageRole.ASSISTANT


def _kept_reasoning(messages: Sequence[Message], policy: ReasoningReplay) -> set[int]:
    if policy == "none":
        return set()
    indices = [index for index, message in enumerate(messages) if _is_reasoning(message)]
    return set(indices if policy == "full" else indices[-1:])


def _has_reasoning(message: dict[str, Any]) -> bool:
    return any(message.get(field) for field in REASONING_MESSAGE_FIELDS)
