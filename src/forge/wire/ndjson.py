"""Newline-delimited JSON, taken apart from bytes as they arrive.

Sans-I/O: feed pieces in, get lines out. However the bytes were split, the lines are the same.
"""

from __future__ import annotations

from forge.errors import StreamError
from forge.wire.sse import DEFAULT_LIMIT


class LineDecoder:
    """Takes one stream apart into its lines; blank ones, and carriage returns at their ends, are dropped."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._tail: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that are complete with this piece.

        Raises:
            StreamError: one line is longer than the limit.
        """
        head, newline, rest = piece.rpartition(b"\n")
        if not newline:
            self._keep(piece)
            return []
        lines = b"".join((*self._tail, head)).split(b"\n")
        self._tail.clear()
        self._size = 0
        self._keep(rest)
        return [line for line in map(bytes.strip, lines) if line]

    def finish(self) -> list[bytes]:
        """The last line, where no newline ended it."""
        line = b"".join(self._tail).strip()
        self._tail.clear()
        self._size = 0
        return [line] if line else []

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._tail.append(piece)
            self._size += len(piece)
            if self._size > self._limit:
                raise StreamError(f"the stream sent a line of more than {self._limit} bytes")
