"""Ports of which a test knows that nobody else has them, on a machine where other tests take ports all the time."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

# Below what systems give out by themselves (from 32,768 on Linux, from 49,152 elsewhere).
_OURS = range(10_000, 30_000)


def free_port() -> int:
    """A port that is free, and stays so until somebody asks for it by number."""
    for _ in range(100):
        port = random.SystemRandom().choice(_OURS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections: it is held, and nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        yield port
