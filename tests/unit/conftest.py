"""Fixtures for unit tests: a client double as users of the public contract write them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from forge.clients.base import ChunkType, StreamChunk, TokenUsage
from forge.core.calls import TextResponse


class ScriptedClient:
    """Answers from a list; accepts exactly the keywords that the contract promises, and keeps what it was sent.

    An answer may be an exception (raised), a function (called with the messages), or ``(answer, prompt_tokens)``.
    When the list is used up the last answer is given again.
    """

    api_format = "openai"
    model = "scripted"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[list[dict[str, Any]]] = []
        self.options: list[dict[str, Any]] = []

    def next(self, messages: list[dict[str, Any]]) -> Any:
        answer = self.answers[min(len(self.sent), len(self.answers)) - 1]
        if callable(answer):
            answer = answer(messages)
        if isinstance(answer, tuple):
            answer, tokens = answer
            TokenUsage(tokens, 5, tokens + 5)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def send(self, messages, tools=None, sampling=None, passthrough=None, inbound_anthropic_body=None):
        self.sent.append(messages)
        self.options.append({"tools": tools, "sampling": sampling, "anthropic": inbound_anthropic_body})
        answer = self.next(messages)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return answer

    async def send_stream(
        self, messages, tools=None, sampling=None, passthrough=None, inbound_anthropic_body=None
    ):
        self.sent.append(messages)
        answer = self.next(messages)
        if isinstance(answer, TextResponse):
            for word in answer.content.split():
                yield StreamChunk(ChunkType.TEXT_DELTA, content=word)
        yield StreamChunk(ChunkType.FINAL, response=answer)


@pytest.fixture
def scripted() -> type[ScriptedClient]:
    return ScriptedClient
