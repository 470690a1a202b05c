"""Clients that send no more: gone, or still reading?

A client that closed its connection and one that only closed its sending side (as ``nc`` does after a request from a pipe)
look alike: an end of file. They differ in what happens to bytes sent to them: the one reads them, the other's
machine answers with a reset. So something harmless is sent, and the socket is asked whether a reset came.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

_LOOKS: Final = (0.05, 0.1, 0.25, 0.4)
"""Seconds between the first looks: a reset takes one way there and back."""
_LATER: Final = 1.0
_PROBE_EVERY: Final = 5
"""Looks between probes: a client that read at first may close later."""


class HalfClosedWatch:
    """Aborts ``transport`` once its client is seen to be gone. ``probe`` sends something that harms nobody."""

    def __init__(self, transport: asyncio.Transport, probe: Callable[[], None]) -> None:
        self._transport = transport
        self._probe = probe
        self._looks = 0
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        probe()
        self._wait()

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        seconds = _LOOKS[self._looks] if self._looks < len(_LOOKS) else _LATER
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        if self._transport.is_closing():
            return
        if _was_reset(self._transport):
            self._transport.abort()
            return
        self._looks += 1
        if self._looks % _PROBE_EVERY == 0:
            self._probe()
        self._wait()


def _was_reset(transport: asyncio.Transport) -> bool:
    sock = transport.get_extra_info("socket")
    try:
        return sock is None or bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except OSError:
        return True
