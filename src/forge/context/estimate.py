"""How many tokens messages will take, before a server has counted them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from forge.core.messages import Message
from forge.core.request import Tool

BYTES_PER_TOKEN = 4
"""Tokenisers of current models take about four bytes of English, code or JSON for a token, and about one token for
a CJK character, which is three bytes: counting UTF-8 bytes is near enough for both."""


def text_size(text: str) -> int:
    """Bytes of ``text`` in UTF-8, without encoding it where it is ASCII."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def message_size(message: Message) -> int:
    """Bytes that a message adds to the prompt: its content, and its calls with their arguments."""
    content = message.content
    size = len(content) if content.isascii() else text_size(content)
    if message.tool_calls:
        for call in message.tool_calls:
            size += len(call.name) + _json_size(call.args or {})
    return size


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Estimated tokens of messages, tool arguments included. Good to a factor of about 1.5; see ``ContextManager``."""
    return sum(map(message_size, messages)) // BYTES_PER_TOKEN


def estimate_tool_tokens(tools: Sequence[Tool]) -> int:
    """Estimated tokens that the descriptions of tools take in every prompt."""
    size = sum(
        text_size(tool.name) + text_size(tool.description) + _json_size(tool.parameters) for tool in tools
    )
    return size // BYTES_PER_TOKEN


def _json_size(value: Any) -> int:
    try:
        return len(_encoder.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return text_size(str(value))


_encoder = msgspec.json.Encoder()
