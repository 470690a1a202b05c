"""What may stand between two tokens: white space, comments, escaped line breaks, invisible characters."""

from __future__ import annotations

import re
import string

# A literal backslash-n between members is a line break that was escaped once too often.
_BLANK = re.compile(r"(?:[\s\ufeff\u200b\u200c\u200d\u2060\x00]|\\[nrt])*+")
_NEVER_A_GAP = frozenset(f"{string.ascii_letters}{string.digits}\"',:{{}}[]")
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
        if pos < size and text[pos] in _NEVER_A_GAP:
            return pos
        while True:
            match = _BLANK.match(text, pos)
            pos = match.end() if match else pos
            if pos >= size:
                return size
            after = self._after_comment(pos)
            if after < 0:
                return pos
            pos = after

    def _after_comment(self, pos: int) -> int:
        """The offset past the comment at ``pos``, -1 when there is none (one without an end is none)."""
        char = self.text[pos]
        if char == "#":
            return self._after_line(pos + 1)
        if char == "/":
            if self.text.startswith("*", pos + 1):
                return self._after_block(pos + 2)
            if self.text.startswith("/", pos + 1):
                return self._after_line(pos + 2)
        return -1

    def plain(self, pos: int) -> bool:
        """Whether the gap at ``pos`` is nothing but white space."""
        match = _PLAIN.match(self.text, pos)
        return match is not None and match.end() == self.skip(pos)

    def _after_block(self, pos: int) -> int:
        if not self._block_from <= pos <= self._block_end:
            found = self.text.find("*/", pos)
            self._block_from, self._block_end = pos, len(self.text) if found < 0 else found
        return self._block_end + 2 if self._block_end < len(self.text) else -1

    def _after_line(self, pos: int) -> int:
        if not self._line_from <= pos <= self._line_end:
            found = self.text.find("\n", pos)
            self._line_from, self._line_end = pos, len(self.text) if found < 0 else found
        return self._line_end if self._line_end < len(self.text) else -1
