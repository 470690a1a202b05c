"""One exchange with a server that answers in server-sent events: send a body, yield the deltas of whatever comes.

Deltas come in batches, one per piece of the body that arrived, so that the layers above cost little per token.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from yarl import URL

from forge.clients.transport import Incoming, Transport
from forge.core.events import Delta
from forge.errors import ForgeError
from forge.wire import anthropic, openai
from forge.wire.sse import SSEDecoder


class EventReader(Protocol):
    """Reads the data of one stream's events; ``done`` once nothing more has to come."""

    done: bool

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas of one event."""
        ...

    def end(self) -> list[Delta]:
        """The last deltas, or StreamError."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """How a protocol's answers are read, streamed (one reader each) and whole."""

    reader: Callable[[], EventReader]
    whole: Callable[[bytes], list[Delta]]


OPENAI: Final = AnswerFormat(openai.ChunkDecoder, openai.decode_response)
ANTHROPIC: Final = AnswerFormat(anthropic.EventDecoder, anthropic.decode_response)


async def exchange(
    transport: Transport,
    url: URL,
    body: bytes,
    headers: Mapping[str, str],
    *,
    stream: bool,
    answers: AnswerFormat = OPENAI,
) -> AsyncGenerator[list[Delta], None]:
    """Post ``body`` and yield the answer's deltas as they arrive; the last is ``Finish``.

    A server that does not stream although asked, or streams although not asked, is understood as well.

    Raises:
        BackendError: an error status, an error event, or an answer that is not in the format.
        BackendUnreachableError: no connection, or it broke before the answer began.
        StreamError: the answer broke off, or ended without saying that it was finished.
    """
    async with transport.open("POST", url, headers=headers, body=body) as incoming:
        if incoming.status >= 400:
            raise await incoming.error()
        if not _streams(incoming, asked=stream):
            yield answers.whole(await incoming.read())
            return
        events = SSEDecoder()
        chunks = answers.reader()
        while not chunks.done and (piece := await incoming.next_piece()):
            batch: list[Delta] = []
            try:
                for event in events.feed(piece):
                    batch += chunks.feed(event.data)
            except ForgeError:
                # What came before the error is part of the answer.
                yield batch
                raise
            yield batch
        if chunks.done:
            await incoming.drain()
        yield chunks.end()


def _streams(incoming: Incoming, *, asked: bool) -> bool:
    """By the content type, and by what was asked where that says nothing."""
    if incoming.content_type == "text/event-stream":
        return True
    return asked and incoming.content_type not in ("application/json", "text/html")
