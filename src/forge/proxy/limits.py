"""Bounds on what clients, and the backend, can make the proxy hold or wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds. None means no bound, where it is allowed.

    ``body_bytes`` bounds one request's body, ``bodies_bytes`` all that are held at once.
    ``queue`` and ``queue_seconds`` bound the wait for one of the places that ``Settings.max_concurrent`` and
    ``Settings.serialize`` leave. ``connect_seconds``, ``first_byte_seconds`` and ``between_bytes_seconds`` bound
    the phases of one call to the backend, the last two None for ``Settings.backend_timeout``; ``total_seconds``
    bounds all that is done for one request once it is its turn, corrections included.
    """

    body_bytes: int = 16 * 1024 * 1024
    bodies_bytes: int = 256 * 1024 * 1024
    header_bytes: int = 64 * 1024
    header_count: int = 200
    connections: int = 2048
    header_seconds: float = 30.0
    body_seconds: float = 60.0
    keep_alive_seconds: float = 75.0
    write_seconds: float = 60.0
    heartbeat_seconds: float = 10.0
    drain_seconds: float = 30.0
    queue: int = 256
    queue_seconds: float | None = 600.0
    connect_seconds: float = 10.0
    first_byte_seconds: float | None = None
    between_bytes_seconds: float | None = None
    total_seconds: float | None = None

    def fault(self) -> str | None:
        """One sentence that names the bound that cannot be, or None."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value is None:
                if not _is_optional(name):
                    return f"{name} needs a value"
            elif not math.isfinite(value) or value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
                least = "nonnegative" if name in _MAY_BE_ZERO else "greater than 0"
                return f"{name} must be finite and {least}"
        return None


_MAY_BE_ZERO = frozenset({"queue", "drain_seconds"})


def _is_optional(name: str) -> bool:
    return Limits.__dataclass_fields__[name].default is None or name == "queue_seconds"
