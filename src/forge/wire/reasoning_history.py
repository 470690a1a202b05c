"""The thinking in a conversation that a caller sends, as far as a policy lets it pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from forge.core.reasoning import ReasoningReplay
from forge.core.request import ChatMessage, Protocol, Reasoning
from forge.wire.json_text import dumps, loads
from forge.wire.openai_request import REASONING_FIELDS

_THINKING_BLOCKS = ("thinking", "redacted_thinking")
_NOTHING_SAID = [{"type": "text", "text": "(no answer)"}]
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def with_reasoning(messages: Sequence[ChatMessage], replay: ReasoningReplay) -> tuple[ChatMessage, ...]:
    """``messages`` without the thinking that ``replay`` leaves out; all else in them stays, text beside calls too.

    ``none`` changes each message by itself, so a longer history only adds to a shorter one. ``keep-last`` takes the
    thinking out of a message as soon as a later one has some: a server then reads its prompt anew from there.
    """
    if replay == "full":
        return tuple(messages)
    thinking = [number for number, message in enumerate(messages) if _thinks(message)]
    dropped = set(thinking if replay == "none" else thinking[:-1])
    return tuple(
        _without_thinking(message) if number in dropped else message
        for number, message in enumerate(messages)
    )


def _thinks(message: ChatMessage) -> bool:
    return message.role == "assistant" and any(isinstance(part, Reasoning) for part in message.parts)


def _without_thinking(message: ChatMessage) -> ChatMessage:
    parts = tuple(part for part in message.parts if not isinstance(part, Reasoning))
    raw = None if message.raw is None else _stripped(message.raw, message.protocol)
    return msgspec.structs.replace(message, parts=parts, raw=raw)


def _stripped(raw: Raw, protocol: Protocol | None) -> Raw:
    fields: dict[str, Any] = _decode_fields(raw)
    if protocol is Protocol.ANTHROPIC:
        blocks = loads(bytes(fields["content"]))
        if isinstance(blocks, list):
            # Anthropic refuses a message without content.
            fields["content"] = [block for block in blocks if not _is_thinking(block)] or _NOTHING_SAID
    else:
        fields = {name: value for name, value in fields.items() if name not in REASONING_FIELDS}
    return Raw(dumps(fields))


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _THINKING_BLOCKS
