"""What a client of the public contract answers: read out of its stream, and told apart from what is no answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from forge.clients.base import ChunkType, StreamChunk
from forge.core.calls import LLMResponse, TextResponse
from forge.core.messages import Message, MessageType
from forge.core.transcript import assistant
from forge.errors import ForgeError, ProtocolMisuseError, StreamError

OnChunk = Callable[[StreamChunk], Awaitable[None]]


async def read_stream(
    chunks: Any, on_chunk: OnChunk | None, history: Sequence[Message], turn: int
) -> LLMResponse:
    """The answer that a stream ends with; every chunk goes to ``on_chunk`` on the way. The stream is closed in any case.

    Raises:
        StreamError: it ended without a FINAL chunk.
        ForgeError: from the client; ``messages`` are ``history`` with what was generated before.
    """
    final: LLMResponse | None = None
    partial: list[str] = []
    try:
        async for chunk in chunks:
            if chunk.type is ChunkType.FINAL and chunk.response is not None:
                final = chunk.response
            elif chunk.type is ChunkType.TEXT_DELTA:
                partial.append(chunk.content)
            if on_chunk is not None:
                await on_chunk(chunk)
        if final is None:
            raise StreamError
    except ForgeError as error:
        if partial:
            # What was generated before the stream broke belongs to the conversation that the error carries.
            error.messages = [*history, assistant("".join(partial), MessageType.TEXT_RESPONSE, turn)]
        raise
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
    return final


def must_be_an_answer(response: object) -> None:
    """Tell a client's mistake from a model's: the first is a bug, and no correction would help."""
    if isinstance(response, TextResponse):
        content: object = response.content
        right = content is None or isinstance(content, str)
    else:
        right = isinstance(response, list | tuple) and all(
            isinstance(getattr(call, "tool", None), str)
            and isinstance(getattr(call, "reasoning", None), str | None)
            for call in response
        )
    if not right:
        raise ProtocolMisuseError(
            f"a client must answer with ToolCalls or a TextResponse, not with {response!r:.200}"
        )
