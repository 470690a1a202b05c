"""Server-sent events, decoded from bytes as they arrive (WHATWG HTML, section 9.2.6).

Sans-I/O: feed pieces in, get events out. However the bytes were split, the events are the same.
"""

from __future__ import annotations

from msgspec import Struct

from forge.errors import StreamError

_BOM = b"\xef\xbb\xbf"
DEFAULT_LIMIT = 32 * 1024 * 1024
"""Bytes one event may have before the stream is taken for broken."""


class ServerSentEvent(Struct, frozen=True):
    """One event. ``data`` is UTF-8 as it came, its lines joined by newlines; ``event`` is "" when not named."""

    data: bytes
    event: str = ""
    id: str = ""


class SSEDecoder:
    """Decodes one stream. An event whose closing blank line never came is dropped, as the standard says.

    ``last_event_id`` and ``retry`` (milliseconds) hold what the stream said last.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.last_event_id = ""
        self.retry: int | None = None
        self._limit = limit
        self._size = 0
        self._started = False
        self._after_cr = False
        self._tail: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """The events that are complete with this piece.

        Raises:
            StreamError: one event is longer than the limit.
        """
        if not self._started:
            piece = self._without_bom(piece)
        piece = self._with_plain_newlines(piece)
        self._size += len(piece)
        if b"\n" not in piece:
            if piece:
                self._tail.append(piece)
            self._check_size()
            return []
        if self._tail:
            self._tail.append(piece)
            piece = b"".join(self._tail)
            self._tail.clear()
        lines = piece.split(b"\n")
        rest = lines.pop()
        events: list[ServerSentEvent] = []
        for line in lines:
            if line.startswith(b"data: "):
                self._data.append(line[6:])
            elif line:
                self._field(line)
            else:
                self._dispatch(events)
        if rest:
            self._tail.append(rest)
        self._size = len(rest) + sum(map(len, self._data))
        self._check_size()
        return events

    def _without_bom(self, piece: bytes) -> bytes:
        piece = b"".join((*self._tail, piece))
        self._tail.clear()
        self._size = 0
        if len(piece) < len(_BOM) and _BOM.startswith(piece):
            self._tail.append(piece)
            return b""
        self._started = True
        return piece.removeprefix(_BOM)

    def _with_plain_newlines(self, piece: bytes) -> bytes:
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value)

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(ServerSentEvent(data, self._event, self.last_event_id))
            self._data.clear()
        self._event = ""

    def _check_size(self) -> None:
        if self._size > self._limit:
            raise StreamError(f"the stream sent an event of more than {self._limit} bytes")
