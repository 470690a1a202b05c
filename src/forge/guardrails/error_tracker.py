"""Two budgets, for answers without a usable call and for calls that fail."""

from __future__ import annotations


class ErrorTracker:
    """Counts failures in a row. A limit of N tolerates N failures; the next one exhausts it."""

    def __init__(self, max_retries: int = 3, max_tool_errors: int = 2) -> None:
        self.max_retries = max_retries
        self.max_tool_errors = max_tool_errors
        self._retries = 0
        self._tool_errors = 0

    def record_retry(self) -> None:
        """An answer had no usable call."""
        self._retries += 1

    def reset_retries(self) -> None:
        """An answer had one."""
        self._retries = 0

    def record_result(self, success: bool, is_soft_error: bool = False) -> None:
        """Note how a call went. Only a hard failure counts; a success does not reset, :meth:`reset_errors` does.

        Args:
            success: whether it did what was asked.
            is_soft_error: the call was right but its data did not resolve.
        """
        if not success and not is_soft_error:
            self._tool_errors += 1

    def reset_errors(self) -> None:
        """A batch of calls went without failure."""
        self._tool_errors = 0

    @property
    def retries_exhausted(self) -> bool:
        """Whether more answers failed in a row than tolerated."""
        return self._retries > self.max_retries

    @property
    def tool_errors_exhausted(self) -> bool:
        """Whether more calls failed in a row than tolerated."""
        return self._tool_errors > self.max_tool_errors

    @property
    def consecutive_retries(self) -> int:
        """Failed answers in a row."""
        return self._retries

    @property
    def consecutive_tool_errors(self) -> int:
        """Failed calls in a row."""
        return self._tool_errors
