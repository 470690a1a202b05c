"""How full the context is, as somebody saw it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True)
class ContextSession:
    """Whose context was measured."""

    id: str
    source: str | None = None


@dataclass(frozen=True)
class ContextUsage:
    """Tokens in a context at a moment.

    Raises:
        ValueError: the count is negative, or ``observed_at`` does not carry UTC.
    """

    current_usage_tokens: int
    observed_at: datetime
    context_window_tokens: int | None = None
    model: str | None = None
    context_window_source: str | None = None
    session: ContextSession | None = None

    def __post_init__(self) -> None:
        """Refuse counts and times that cannot be compared with others."""
        if self.current_usage_tokens < 0:
            raise ValueError("current_usage_tokens must not be negative")
        if self.context_window_tokens is not None and self.context_window_tokens < 0:
            raise ValueError("context_window_tokens must not be negative")
        if self.observed_at.utcoffset() != timedelta(0):
            raise ValueError("observed_at must be UTC-aware")


def utc_now() -> datetime:
    """The clock by which observations are dated, unless another one is given."""
    return datetime.now(UTC)
