"""A request that offers an upgrade, read on as what it is without one.

httptools takes whatever follows the head of such a request for another protocol, its body too. Java's HTTP client offers
one (to HTTP/2) with the first request on each connection.
"""

from __future__ import annotations

from typing import Protocol


class Callbacks(Protocol):
    """What a parser tells."""

    def on_message_begin(self) -> None:
        """A request starts."""

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""

    def on_headers_complete(self) -> None:
        """The head is whole."""

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""

    def on_message_complete(self) -> None:
        """The request is whole."""


class AfterUpgrade:
    """Hands on what a second parser tells, but for the head of its first request: that was told by the first one."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._head_was_told = True
        self.on_body = callbacks.on_body

    def on_message_begin(self) -> None:
        """A request starts."""
        if not self._head_was_told:
            self._callbacks.on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""
        if not self._head_was_told:
            self._callbacks.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if not self._head_was_told:
            self._callbacks.on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if not self._head_was_told:
            self._callbacks.on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; the next one is told in full."""
        self._head_was_told = False
        self._callbacks.on_message_complete()
