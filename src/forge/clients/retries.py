"""When a failed call is worth another try: the failure passes by itself, and nothing was generated yet."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

from msgspec import Struct

from forge.errors import BackendError, BackendUnreachableError, MalformedOutputError

_PASSING = frozenset({408, 409, 429})


class Retries(Struct, frozen=True, kw_only=True):
    """How often and after how many seconds a call is tried again; by default never.

    The wait doubles from ``first`` up to ``longest``, less a random quarter so that many clients do not come back
    at the same moment. A server's own ``Retry-After`` counts instead; one beyond ``patience`` ends the tries,
    since coming earlier would be in vain.
    """

    limit: int = 0
    first: float = 0.5
    longest: float = 8.0
    patience: float = 60.0

    def delay(self, error: Exception, tries: int) -> float | None:
        """Seconds to wait before the next try, when ``tries`` were made already; None to give up."""
        if tries >= self.limit or not _passes(error):
            return None
        hint = retry_after_seconds(error.retry_after) if isinstance(error, BackendError) else None
        if hint is not None and hint > 0:
            return hint if hint <= self.patience else None
        return min(self.first * 2.0**tries, self.longest) * (1 - random.random() / 4)  # noqa: S311 - no secret


def _passes(error: Exception) -> bool:
    if isinstance(error, BackendUnreachableError):
        # A server that took the request and stayed silent may be at work on it.
        return not isinstance(error.cause, TimeoutError)
    if not isinstance(error, BackendError) or isinstance(error, MalformedOutputError):
        return False
    if error.should_retry is not None:
        return error.should_retry
    return error.status_code in _PASSING or error.status_code >= 500


def retry_after_seconds(value: str | None) -> float | None:
    """A ``Retry-After`` header, in seconds or as a date, as seconds from now; None where it says nothing."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return None
