"""What several attempts cost together."""

import pytest

from forge.core.events import Usage
from forge.engine.usage import add_usage

ONE = Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=1)


def test_nothing_is_added_to_nothing():
    assert add_usage(None, None) is None
    assert add_usage(ONE, None) == add_usage(None, ONE) == ONE


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        pytest.param({}, {}, {}, id="none"),
        pytest.param(
            {"completion_tokens_details": {"reasoning_tokens": 3, "tier": "a", "audio": None}},
            {"completion_tokens_details": {"reasoning_tokens": 4, "tier": "b", "audio": 1}},
            {"completion_tokens_details": {"reasoning_tokens": 7, "tier": "b", "audio": 1}},
            id="details",
        ),
        pytest.param({"total_tokens": 20}, {"total_tokens": 21}, {"total_tokens": 41}, id="totals"),
        pytest.param({}, {"total_tokens": 21}, {"total_tokens": 33}, id="a total on one side"),
        pytest.param({"total_tokens": 20}, {}, {"total_tokens": 32}, id="a total on the other side"),
        pytest.param({"kept": 1}, {"flag": True}, {"kept": 1, "flag": True}, id="different fields"),
        pytest.param({"flag": True}, {"flag": True}, {"flag": True}, id="a flag is no count"),
    ],
)
def test_counts_add_up(first, second, total):
    one = Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=1, extra=first)
    other = Usage(prompt_tokens=10, completion_tokens=2, extra=second)

    assert add_usage(one, other) == Usage(prompt_tokens=20, completion_tokens=4, cached_tokens=1, extra=total)
