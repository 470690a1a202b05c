"""What a server's tokenizer said about long texts. Pure: who asks it, and when, is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from forge.context.estimate import BYTES_PER_TOKEN, message_size, text_size
from forge.core.messages import Message

LONG_TEXT = 400
"""Characters from which a text is worth a question: about a hundred tokens."""

MAX_REMEMBERED = 4096
MAX_QUESTIONS = 32
"""Texts named at once; the longest are, since a guess is most wrong there."""


class TokenCounts:
    """Tokens of texts, remembered by a fingerprint so that no text is kept alive."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[int, int], int] = {}

    def learn(self, text: str, tokens: int) -> None:
        """Take note of a count."""
        while len(self._tokens) >= MAX_REMEMBERED:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[_fingerprint(text)] = tokens

    def unknown(self, messages: Iterable[Message]) -> list[str]:
        """Long texts of ``messages`` that were not counted, the longest first."""
        texts = {
            message.content
            for message in messages
            if len(message.content) >= LONG_TEXT and _fingerprint(message.content) not in self._tokens
        }
        return sorted(texts, key=len, reverse=True)[:MAX_QUESTIONS]

    def split(self, messages: Iterable[Message]) -> tuple[int, int]:
        """Tokens of the texts that were counted, and the estimate for everything else."""
        counted = size = 0
        for message in messages:
            size += message_size(message)
            if self._tokens and len(message.content) >= LONG_TEXT:
                tokens = self._tokens.get(_fingerprint(message.content))
                if tokens is not None:
                    counted += tokens
                    size -= text_size(message.content)
        return counted, size // BYTES_PER_TOKEN


def _fingerprint(text: str) -> tuple[int, int]:
    return len(text), hash(text)
