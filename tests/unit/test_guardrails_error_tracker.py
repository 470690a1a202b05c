"""Two independent budgets."""

import pytest

from forge.guardrails import ErrorTracker


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_of_n_tolerates_n_failures(limit):
    tracker = ErrorTracker(max_retries=limit, max_tool_errors=limit)
    for _ in range(limit):
        tracker.record_retry()
        tracker.record_result(success=False)
    assert (tracker.retries_exhausted, tracker.tool_errors_exhausted) == (False, False)
    tracker.record_retry()
    assert (tracker.retries_exhausted, tracker.tool_errors_exhausted) == (True, False)
    tracker.record_result(success=False)
    assert tracker.tool_errors_exhausted


def test_what_counts_and_what_resets():
    tracker = ErrorTracker()
    tracker.record_result(success=False, is_soft_error=True)
    assert tracker.consecutive_tool_errors == 0
    tracker.record_result(success=False)
    tracker.record_result(success=True)
    assert tracker.consecutive_tool_errors == 1
    tracker.record_retry()
    tracker.reset_errors()
    assert (tracker.consecutive_tool_errors, tracker.consecutive_retries) == (0, 1)
    tracker.reset_retries()
    assert tracker.consecutive_retries == 0
