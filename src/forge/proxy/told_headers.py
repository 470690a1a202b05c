"""What of the head of a backend's answer its caller is told: how much more it may ask for, and the answer's id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from forge.clients.heard import RawHeaders

FORGE_ID: Final = b"x-forge-request-id"
"""Where an answer has Forge's own id, if the backend's id stands in its usual place."""
IDS: Final = frozenset({b"request-id", b"x-request-id"})
_PREFIXES: Final = (b"anthropic-ratelimit-", b"x-ratelimit-")


def told(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Those of a backend's ``headers`` that are told, their names in lower case."""
    lower = ((name.lower(), value) for name, value in headers)
    return [pair for pair in lower if pair[0].startswith(_PREFIXES) or pair[0] in IDS]


def with_told(
    own: Iterable[tuple[bytes, bytes]], backends: list[tuple[bytes, bytes]], own_id: bytes
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer: its ``own``, and the ``backends`` in their place where both have one.

    An id that gives way to the backend's, as which its support knows the answer, stands under another name.
    """
    own = list(own)
    names = {name for name, _ in backends}
    kept = [pair for pair in own if pair[0] not in names]
    moved = [(FORGE_ID, own_id)] if len(kept) < len(own) else []
    return [*kept, *backends, *moved]
