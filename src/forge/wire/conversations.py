"""The beginnings of conversations that were read before.

A client sends its whole conversation with each request, and between two requests it only grows. What a body shares
with an earlier one, byte for byte, need not be read again: the cost of a request is then that of what is new in it,
and no longer that of the whole history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile

import msgspec
from msgspec import Raw, Struct

from forge.core.request import ChatMessage, Request
from forge.errors import RequestError

SHORTEST = 4096
"""Bytes. A shorter beginning is read as fast as it is found."""
_MOST = 64
_MOST_BYTES = 4 * 1024 * 1024

_MARK = b'"read before"'
"""Stands for the known messages in a shortened body. No message is a string."""
_OPENING = re.compile(rb'"messages"\s*:\s*\[')
_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Beginning(Struct, frozen=True):
    """A body up to the end of one of its messages: ``text``, whose array of messages is open from ``start`` on."""

    text: bytes
    start: int
    messages: tuple[ChatMessage, ...]

    def shortened(self, body: bytes) -> bytes:
        """``body``, which begins with this, with a mark in place of the known messages.

        It is valid JSON exactly if ``body`` is, since what follows a message may follow the mark.
        """
        return b"%b%b%b" % (self.text[: self.start], _MARK, body[len(self.text) :])


def is_mark(raw: Raw) -> bool:
    """Whether a member of a shortened body's messages is the mark."""
    return bytes(raw) == _MARK


class Conversations:
    """The beginnings of the conversations that were last seen, within bounds on their number and size.

    May be used by several threads: its state is one tuple, replaced as a whole.
    """

    def __init__(self) -> None:
        self._known: tuple[Beginning, ...] = ()

    def find(self, body: bytes) -> Beginning | None:
        """The longest known beginning of ``body``."""
        found = (known for known in self._known if body.startswith(known.text))
        return max(found, key=lambda known: len(known.text), default=None)

    def decode(self, body: bytes, decode: Callable[[bytes, Beginning | None], Request]) -> Request:
        """``body`` as ``decode`` reads it, given its known beginning.

        Raises:
            RequestError: as ``decode`` raises it for the whole body.
        """
        known = self.find(body) if len(body) > SHORTEST else None
        if known is not None:
            try:
                return decode(body, known)
            except RequestError:
                pass  # what is wrong, and where, shows in the whole
        return decode(body, None)

    def read(
        self,
        body: bytes,
        known: Beginning | None,
        entries: list[Raw],
        read: Callable[[Raw, str], ChatMessage],
    ) -> tuple[ChatMessage, ...]:
        """All messages of a body, those of its known beginning as they were read before.

        Args:
            body: the whole body.
            known: its known beginning.
            entries: the members of its array of messages; the first is the mark where the beginning is known.
            read: reads one message, given its path for what it says of errors.

        Raises:
            RequestError: the array was given twice, or what ``read`` raises.
        """
        if known is not None:
            if not entries or not is_mark(entries[0]):
                raise RequestError("'messages' was given twice", "messages")
            del entries[0]
        if len(body) <= SHORTEST:
            return tuple([read(entry, f"messages[{i}]") for i, entry in enumerate(entries)])
        # A message that is remembered must not hold the whole body.
        new = tuple(read(entry.copy(), f"messages[{i}]") for i, entry in enumerate(entries))
        messages = new if known is None else known.messages + new
        self.remember(body, known, entries, messages)
        return messages

    def remember(
        self, body: bytes, known: Beginning | None, entries: Sequence[Raw], messages: tuple[ChatMessage, ...]
    ) -> None:
        """Keep all but the last message, which some clients write anew.

        Args:
            body: a whole body that was read.
            known: its known beginning.
            entries: its messages behind ``known``, as they stand in the body.
            messages: all its messages. They are kept as they are, so they must not hold the body's buffer.
        """
        if known is not None and len(entries) < 2:
            self._keep(known, known)
            return
        start = _start(body) if known is None else known.start
        end = (
            None if start is None else _end(body, len(known.text) if known else start, entries, known is None)
        )
        if start is None or end is None or not SHORTEST <= end <= _MOST_BYTES:
            return
        self._keep(Beginning(body[:end], start, messages[:-1]), known)

    def _keep(self, newest: Beginning, replaced: Beginning | None) -> None:
        kept = [newest, *(one for one in self._known if one is not replaced)][:_MOST]
        sizes = accumulate(len(one.text) for one in kept)
        within = takewhile(lambda size: size <= _MOST_BYTES, sizes)
        self._known = tuple(one for one, _ in zip(kept, within, strict=False))


def _start(body: bytes) -> int | None:
    """Where the body's array of messages begins: behind its bracket, on the top level of the body."""
    match = _OPENING.search(body)
    if match is None:
        return None
    try:
        # Closed here, it is an object: so the array belongs to the outermost one.
        fields = _decode_fields(body[: match.end()] + b"]}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return match.end() if list(fields)[-1] == "messages" else None


def _end(body: bytes, pos: int, entries: Sequence[Raw], first: bool) -> int | None:
    """Where the last but one of ``entries`` ends, if they do stand at ``pos``, one after the other, up to a bracket."""
    end = pos
    for entry in entries:
        match = (_SPACE if first else _COMMA).match(body, pos)
        first = False
        text = bytes(entry)
        if match is None or not body.startswith(text, match.end()):
            return None
        end, pos = pos, match.end() + len(text)
    match = _SPACE.match(body, pos)
    return end if match is not None and body.startswith(b"]", match.end()) else None
