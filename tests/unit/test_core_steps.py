"""What has been done, and what that allows."""

import pytest

from forge.core.steps import StepTracker


def test_pending_and_hint_follow_the_orders_of_declaration_and_execution():
    tracker = StepTracker(["a", "b"])
    assert tracker.summary_hint() == "[No steps completed yet]"
    tracker.record("z")
    tracker.record("b", {"k": 1})
    assert (tracker.pending(), tracker.is_satisfied()) == (["a"], False)
    tracker.record("a")
    assert tracker.is_satisfied()
    assert tracker.summary_hint() == "[Steps completed: z, b, a]"
    assert tracker.executed_tools == {"z": [{}], "b": [{"k": 1}], "a": [{}]}


@pytest.mark.parametrize(
    ("done", "args", "prerequisites", "missing"),
    [
        pytest.param([], {}, ["a"], ["a"], id="never-run"),
        pytest.param([("a", None)], {}, ["a", "b"], ["b"], id="one-of-two"),
        pytest.param([("a", {"k": 1})], {"k": 1}, [{"tool": "a", "match_arg": "k"}], [], id="match"),
        pytest.param([("a", {"k": 1})], {"k": 2}, [{"tool": "a", "match_arg": "k"}], ["a"], id="no-match"),
        pytest.param([("a", None)], {}, [{"tool": "a", "match_arg": "k"}], ["a"], id="both-lack-it"),
        pytest.param(
            [("a", {"k": None})], {"k": None}, [{"tool": "a", "match_arg": "k"}], [], id="both-null"
        ),
        pytest.param([("a", {"k": 1})], "text", [{"tool": "a", "match_arg": "k"}], ["a"], id="no-object"),
    ],
)
def test_prerequisites(done, args, prerequisites, missing):
    tracker = StepTracker([])
    for name, arguments in done:
        tracker.record(name, arguments)
    check = tracker.check_prerequisites("t", args, prerequisites)
    assert (check.satisfied, check.missing) == (not missing, missing)
