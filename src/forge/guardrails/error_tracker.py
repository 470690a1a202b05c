"""Two budgets, for answers without a usable call and for calls that fail."""

from __future__ import annotations

from forge.engine.budget import Budget


class ErrorTracker:
    """Counts failures in a row. A limit of N tolerates N failures; the next one exhausts it."""

    def __init__(self, max_retries: int = 3, max_tool_errors: int = 2) -> None:
        self._retries = Budget(max_retries)
        self._tool_errors = Budget(max_tool_errors)

    @property
    def max_retries(self) -> int:
        """Failed answers in a row that are tolerated."""
        return self._retries.limit

    @max_retries.setter
    def max_retries(self, limit: int) -> None:
        self._retries.limit = limit

    @property
    def max_tool_errors(self) -> int:
        """Failed calls in a row that are tolerated."""
        return self._tool_errors.limit

    @max_tool_errors.setter
    def max_tool_errors(self, limit: int) -> None:
        self._tool_errors.limit = limit

    def record_retry(self) -> None:
        """An answer had no usable call."""
        self._retries.drain()

    def reset_retries(self) -> None:
        """An answer had one."""
        self._retries.reset()

    def record_result(self, success: bool, is_soft_error: bool = False) -> None:
        """Note how a call went. Only a hard failure counts; a success does not reset, :meth:`reset_errors` does.

        Args:
            success: whether it did what was asked.
            is_soft_error: the call was right but its data did not resolve.
        """
        if not success and not is_soft_error:
            self._tool_errors.drain()

    def reset_errors(self) -> None:
        """A batch of calls went without failure."""
        self._tool_errors.reset()

    @property
    def retries_exhausted(self) -> bool:
        """Whether more answers failed in a row than tolerated."""
        return self._retries.exhausted

    @property
    def tool_errors_exhausted(self) -> bool:
        """Whether more calls failed in a row than tolerated."""
        return self._tool_errors.exhausted

    @property
    def consecutive_retries(self) -> int:
        """Failed answers in a row."""
        return self._retries.used

    @property
    def consecutive_tool_errors(self) -> int:
        """Failed calls in a row."""
        return self._tool_errors.used

    @property
    def level(self) -> int:
        """The number of the next correction, from 1: later ones are sharper."""
        return self._retries.used + self._tool_errors.used + 1

    def on_last_rung(self, *, of_tool_errors: bool) -> bool:
        """Whether one more failed answer would be one too many; ``of_tool_errors``: or one more failed call."""
        return self._retries.on_last_rung or (of_tool_errors and self._tool_errors.on_last_rung)
