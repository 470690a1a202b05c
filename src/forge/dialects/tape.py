"""The part of a reply that is still being read: an append-only text addressed by its offset in the whole reply.

Pieces of one character must not make a long reply quadratic, and one piece of ten megabytes must not be copied
for every token in it. So the text is kept in chunks, small pieces are merged, and a reader gets a window: a
string that reaches to the end of what has arrived.
"""

from __future__ import annotations

from bisect import bisect_right

from forge.dialects.rereads import Rereads

_SMALL = 2048
"""Chunks shorter than this take in the next piece: the copy costs less than the bookkeeping."""


class Tape:
    """Text that arrives in pieces. Offsets count characters of the whole reply."""

    __slots__ = ("_chunks", "_starts", "closed", "cut", "end", "rereads")

    def __init__(self) -> None:
        self._chunks: list[str] = [""]
        self._starts: list[int] = [0]
        self.end = 0
        self.closed = False
        self.rereads = Rereads()
        self.cut = False
        """The reply did not end by itself: a limit cut it off."""

    def append(self, piece: str) -> None:
        """Add the next piece of the reply."""
        if len(self._chunks[-1]) < _SMALL:
            self._chunks[-1] += piece
        else:
            self._starts.append(self.end)
            self._chunks.append(piece)
        self.end += len(piece)

    def drop_before(self, offset: int) -> None:
        """Forget the chunks that lie wholly before ``offset``."""
        index = bisect_right(self._starts, offset) - 1
        if index > 0:
            del self._chunks[:index]
            del self._starts[:index]
        if self._starts[0] < offset == self.end:
            self._chunks = [""]
            self._starts = [offset]

    def pass_over(self, piece: str) -> None:
        """Add a piece that nobody will look at again; everything before it must have been dropped."""
        self.end += len(piece)
        self._starts[-1] = self.end

    @property
    def empty(self) -> bool:
        """Whether all that came was dropped."""
        return self._starts[-1] == self.end

    def window(self, offset: int) -> tuple[str, int]:
        """A string that holds everything from ``offset`` on, and the offset of its first character."""
        if offset >= self._starts[-1]:
            return self._chunks[-1], self._starts[-1]
        index = max(bisect_right(self._starts, offset) - 1, 0)
        cut = max(offset - self._starts[index], 0)
        head = self._chunks[index][:cut]
        joined = self._chunks[index][cut:] + "".join(self._chunks[index + 1 :])
        start = self._starts[index] + cut
        del self._chunks[index:]
        del self._starts[index:]
        if head:
            self._chunks.append(head)
            self._starts.append(start - cut)
        self._chunks.append(joined)
        self._starts.append(start)
        return joined, start

    def slice(self, start: int, stop: int) -> str:
        """The characters from ``start`` up to ``stop``."""
        base = self._starts[-1]
        if start >= base:
            return self._chunks[-1][start - base : stop - base]
        index = max(bisect_right(self._starts, start) - 1, 0)
        base = self._starts[index]
        if stop <= base + len(self._chunks[index]):
            return self._chunks[index][start - base : stop - base]
        last = bisect_right(self._starts, stop) - 1
        parts = [self._chunks[index][start - base :], *self._chunks[index + 1 : last]]
        parts.append(self._chunks[last][: stop - self._starts[last]])
        return "".join(parts)
