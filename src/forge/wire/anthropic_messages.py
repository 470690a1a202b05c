"""Conversations in the form of Anthropic's Messages API: the system prompt apart, turns that alternate, each call
answered by a result in the very next message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from forge.core.request import Call, ChatMessage, Opaque, Part, Protocol, Reasoning, Result, Text
from forge.wire.arguments import object_arguments
from forge.wire.json_text import dumps
from forge.wire.media import read_media

_SYSTEM_ROLES = ("system", "developer")
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_NO_RESULT = "This call was not run."
_EMPTY = "(no content)"
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def split_system(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """The system messages that open the conversation, and the rest.

    One that comes later stays where it is, as a user's text: moved to the front it would change the prefix of all
    that was sent before.
    """
    count = next((i for i, message in enumerate(messages) if not _opens(message)), len(messages))
    return list(messages[:count]), list(messages[count:])


def _opens(message: ChatMessage) -> bool:
    """Whether it can be part of the ``system`` field; a caller's own message of that role stays a message."""
    return message.role in _SYSTEM_ROLES and not _is_own_turn(message)


def _is_own_turn(message: ChatMessage) -> bool:
    """Whether ``raw`` is a message of this API, and not a value of its ``system`` field."""
    own = message.raw is not None and message.protocol is Protocol.ANTHROPIC
    return own and (message.role not in _SYSTEM_ROLES or bytes(message.raw or b"")[:1] == b"{")


def system_blocks(messages: Sequence[ChatMessage]) -> list[Any]:
    """The blocks of the ``system`` field."""
    blocks: list[Any] = []
    for message in messages:
        raw = bytes(message.raw) if message.raw is not None else b""
        if message.protocol is not Protocol.ANTHROPIC or not raw:
            blocks += [_text(part.text) for part in message.parts if isinstance(part, Text) and part.text]
        elif raw[:1] == b"[":
            blocks += _decode_list(raw)
        else:
            blocks.append(_text(msgspec.json.decode(raw, type=str)))
    return blocks


def encode_messages(messages: Sequence[ChatMessage]) -> list[Any]:
    """The turns. Neighbours that Forge has to rewrite and that have the same role become one."""
    turns = _Turns()
    for message in messages:
        turns.add(message)
    return turns.encoded


def own_messages(messages: Sequence[ChatMessage]) -> bytes:
    """The JSON array of a caller's messages, without the system prompt before them."""
    return dumps(encode_messages(split_system(messages)[1]))


class _Turns:
    def __init__(self) -> None:
        self.encoded: list[Any] = []
        self._open: dict[str, None] = {}
        """Ids of calls in the last assistant turn that have no result yet."""

    def add(self, message: ChatMessage) -> None:
        if _is_own_turn(message):
            self._note(message)
            self.encoded.append(message.raw)
            return
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts for block in self._blocks(part, message)]
        if role == "user":
            blocks = self._answered(blocks)
        elif self._open:
            self._append("user", self._answered([]))
        if role == "assistant":
            self._open = {_id(part.id): None for part in message.parts if isinstance(part, Call)}
        if blocks:
            self._append(role, blocks)
        elif role == "user" and not message.parts:
            self._append(role, [_text(_EMPTY)])

    def _note(self, message: ChatMessage) -> None:
        """Keep the pairs of calls and results in mind, without a change to the caller's own messages."""
        calls = {part.id: None for part in message.parts if isinstance(part, Call)}
        if calls or message.role == "user":
            self._open = calls

    def _answered(self, blocks: list[Any]) -> list[Any]:
        """A user's blocks, results first, with one for each call that has none.

        The results of one turn may come in several messages: only a text ends the wait for the others.
        """
        results = [block for block in blocks if _kind(block) == "tool_result"]
        others = [block for block in blocks if _kind(block) != "tool_result"]
        for block in results:
            self._open.pop(block["tool_use_id"], None)
        if others or not blocks:
            results += [_result(call, _NO_RESULT, is_error=True) for call in self._open]
            self._open = {}
        return results + others

    def _append(self, role: str, blocks: list[Any]) -> None:
        last = self.encoded[-1] if self.encoded else None
        if isinstance(last, dict) and last["role"] == role:
            last["content"] += blocks
        else:
            self.encoded.append({"role": role, "content": blocks})

    def _blocks(self, part: Part, message: ChatMessage) -> list[Any]:
        if isinstance(part, Text):
            # Empty blocks are refused.
            return [_text(part.text)] if part.text.strip() else []
        if isinstance(part, Call):
            arguments = Raw(object_arguments(part.arguments))
            return [{"type": "tool_use", "id": _id(part.id), "name": part.name, "input": arguments}]
        if isinstance(part, Result):
            if _id(part.call_id) in self._open:
                return [_result(_id(part.call_id), part.content, is_error=part.is_error)]
            # A result without its call is refused; what it says is still worth knowing.
            return [_text(part.content)] if part.content.strip() else []
        if isinstance(part, Opaque):
            return [part.raw if message.protocol is Protocol.ANTHROPIC else _media(part, message)]
        return _thinking(part)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking(part: Reasoning) -> list[Any]:
    if part.redacted:
        return [{"type": "redacted_thinking", "data": part.redacted}]
    # Without the signature that came with it, thinking is refused.
    return (
        [{"type": "thinking", "thinking": part.text, "signature": part.signature}] if part.signature else []
    )


def _result(call_id: str, content: str, *, is_error: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if is_error:
        fields["is_error"] = True
    return fields


def _media(part: Opaque, message: ChatMessage) -> dict[str, Any]:
    media = read_media(part, message)
    kind = "document" if media.type == "application/pdf" else "image"
    if media.url:
        return {"type": kind, "source": {"type": "url", "url": media.url}}
    return {"type": kind, "source": {"type": "base64", "media_type": media.type, "data": media.data}}


def _id(call_id: str) -> str:
    return _BAD_ID.sub("_", call_id) or "call"


def _kind(block: Any) -> str | None:
    return block.get("type") if isinstance(block, dict) else None
