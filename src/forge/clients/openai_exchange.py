"""One exchange with a chat-completions server: send a body, yield the deltas of whatever comes back.

Deltas come in batches, one per piece of the body that arrived, so that the layers above cost little per token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from yarl import URL

from forge.clients.transport import Incoming, Transport
from forge.core.events import Delta
from forge.errors import ForgeError
from forge.wire.openai import ChunkDecoder, decode_response
from forge.wire.sse import SSEDecoder


async def exchange(
    transport: Transport, url: URL, body: bytes, headers: Mapping[str, str], *, stream: bool
) -> AsyncIterator[list[Delta]]:
    """Post ``body`` and yield the answer's deltas as they arrive; the last is ``Finish``.

    A server that does not stream although asked, or streams although not asked, is understood as well.

    Raises:
        BackendError: an error status, an error event, or an answer that is no chat completion.
        BackendUnreachableError: no connection, or it broke before the answer began.
        StreamError: the answer broke off, or ended without saying that it was finished.
    """
    async with transport.open("POST", url, headers=headers, body=body) as incoming:
        if incoming.status >= 400:
            raise await incoming.error()
        if not _streams(incoming, asked=stream):
            yield decode_response(await incoming.read())
            return
        events = SSEDecoder()
        chunks = ChunkDecoder()
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
