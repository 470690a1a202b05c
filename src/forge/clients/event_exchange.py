"""One exchange with a server that answers in server-sent events: send a body, give the deltas of whatever comes.

Deltas come in batches, one per piece of the body that arrived, so that the layers above cost little per token.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from yarl import URL

from forge.clients.attempt import Attempt, Take
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


@dataclass(slots=True, kw_only=True)  # made for each call, and a frozen one costs three times as much
class EventExchange(Attempt):
    """Posts ``body`` to ``url``; ``stream`` says whether it asks for a stream.

    A server that does not stream although asked, or streams although not asked, is understood as well.
    """

    transport: Transport
    url: URL
    body: bytes
    headers: Mapping[str, str]
    stream: bool
    answers: AnswerFormat = OPENAI

    async def batches(self) -> AsyncGenerator[list[Delta], None]:
        """See :meth:`Attempt.batches`."""
        async with self.transport.open("POST", self.url, headers=self.headers, body=self.body) as incoming:
            if incoming.status >= 400:
                raise await incoming.error()
            if self._streams(incoming):
                async for batch in self._events(incoming):
                    yield batch
            else:
                yield self.answers.whole(await incoming.read())

    async def deliver(self, take: Take) -> None:
        """See :meth:`Attempt.deliver`; an answer that is one document costs no generator."""
        incoming = await self.transport.answer("POST", self.url, self.headers, self.body)
        try:
            if incoming.status >= 400:
                raise await incoming.error()
            if self._streams(incoming):
                async for batch in self._events(incoming):
                    take(batch)
            else:
                take(self.answers.whole(await incoming.read()))
        finally:
            incoming.close()

    def _streams(self, incoming: Incoming) -> bool:
        """By the content type, and by what was asked where that says nothing."""
        if incoming.content_type == "text/event-stream":
            return True
        return self.stream and incoming.content_type not in ("application/json", "text/html")

    async def _events(self, incoming: Incoming) -> AsyncGenerator[list[Delta], None]:
        events = SSEDecoder()
        chunks = self.answers.reader()
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
