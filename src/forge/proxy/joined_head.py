"""One write, where a server would make two: an answer's head leaves with the first piece of its body."""

from __future__ import annotations

import asyncio
from typing import Final

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""An interim answer, which is not the head of one."""


class JoinedHead:
    """The transport that a request's answer is written to: its head waits for the first piece of the body.

    uvicorn writes the two apart, which costs another system call here and another wake-up at the other end. The
    application never begins an answer before it has something to say.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self._awaits_head = True
        self.written = 0
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Keep the head; write anything else, behind the head where that still waits."""
        self.written += len(data)
        if self._head is not None:
            head, self._head = self._head, None
            if data:
                self._transport.writelines((head, data))
            else:
                # Not together: asyncio keeps an empty last piece in its buffer and never gets rid of it.
                self._transport.write(head)
        elif self._awaits_head and not data.startswith(CONTINUE):
            self._awaits_head = False
            self._head = data
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Write what waits, then close."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Write the head of an answer that has no body."""
        if self._head is not None:
            self.write(b"")
