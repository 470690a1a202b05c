"""What may stand between two tokens: white space, comments, escaped line breaks, invisible characters."""

from __future__ import annotations

import re

# A literal backslash-n between members is a line break that was escaped once too often.
_BLANK = re.compile(r"(?:[\s\ufeff\u200b\u200c\u200d\u2060\x00]|\\[nrt])*+")
_PLAIN = re.compile(r"\s*+")


class Gaps:
    """Skips the gaps of one text.

    Where the next comment end lies is remembered, so that any number of looks ahead costs one pass over the
    text in all.
    """

    __slots__ = ("_block_end", "_block_from", "_line_end", "_line_from", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._block_from = self._block_end = -1
        self._line_from = self._line_end = -1

    def skip(self, pos: int) -> int:
        """The offset of the next token at or after ``pos``; the text's length when there is none."""
        text = self.text
        size = len(text)
        while True:
            match = _BLANK.match(text, pos)
            pos = match.end() if match else pos
            if pos >= size:
                return size
            char = text[pos]
            if char == "/":
                follower = text[pos + 1 : pos + 2]
                if follower == "*":
                    pos = self._after_block(pos + 2)
                elif follower == "/":
                    pos = self._after_line(pos + 2)
                else:
                    return pos
            elif char == "#":
                pos = self._after_line(pos + 1)
            else:
                return pos

    def plain(self, pos: int) -> bool:
        """Whether the gap at ``pos`` is nothing but white space."""
        match = _PLAIN.match(self.text, pos)
        return match is not None and match.end() == self.skip(pos)

    def _after_block(self, pos: int) -> int:
        if not self._block_from <= pos <= self._block_end:
            found = self.text.find("*/", pos)
            self._block_from, self._block_end = pos, len(self.text) if found < 0 else found
        return min(self._block_end + 2, len(self.text))

    def _after_line(self, pos: int) -> int:
        if not self._line_from <= pos <= self._line_end:
            found = self.text.find("\n", pos)
            self._line_from, self._line_end = pos, len(self.text) if found < 0 else found
        return self._line_end
