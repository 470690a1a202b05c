"""When calls go round in circles, and when they only look like it."""

from __future__ import annotations

import pytest

from forge.core.repeats import Repeat, Repeats, canonical


def played(history: str, limit: int = 3) -> Repeats:
    """``A1`` is a call of A with the result 1."""
    repeats = Repeats(limit)
    for name, result in history.split() and [(event[0], event[1:]) for event in history.split()]:
        repeats.record(name, {}, result)
    return repeats


@pytest.mark.parametrize(
    ("history", "following", "expected"),
    [
        pytest.param("", "A", None, id="nothing-yet"),
        pytest.param("A1 A1", "A", None, id="twice"),
        pytest.param("A1 A1 A1", "A", Repeat(3, "1"), id="three-times"),
        pytest.param("B2 A1 A1 A1 A1", "A", Repeat(4, "1"), id="four-times"),
        pytest.param("A1 A1 A1", "B", None, id="another-call"),
        pytest.param("A1 A1 A2", "A", None, id="polling"),
        pytest.param("A1 A2 A3 A4", "A", None, id="progress"),
        pytest.param("A1 A1 B1 A1", "A", None, id="something-else-in-between"),
        pytest.param("A1 B2 A1 B2", "A", Repeat(2, "1"), id="cycle-of-two"),
        pytest.param("A1 B2 A1 B2", "B", None, id="out-of-the-cycle"),
        pytest.param("A1 B2 A1 B3", "A", None, id="a-changed-result-in-the-cycle"),
        pytest.param("A1 B2 A1", "B", None, id="cycle-not-whole"),
        pytest.param("A1 B2 C3 A1 B2 C3", "A", Repeat(2, "1"), id="cycle-of-three"),
        pytest.param("A1 B2 C3 D4 E5 A1 B2 C3 D4 E5", "A", None, id="longer-than-is-looked-for"),
    ],
)
def test_what_would_go_on_with_a_repetition(history: str, following: str, expected: Repeat | None) -> None:
    assert played(history).again(following, {}) == expected


def test_other_arguments_are_another_call() -> None:
    repeats = Repeats(2)
    repeats.record("f", {"a": 1, "b": 2}, "r")
    repeats.record("f", '{"b": 2, "a": 1}', "r")

    assert repeats.again("f", {"b": 2, "a": 1}) == Repeat(2, "r")
    assert repeats.again("f", {"b": 2, "a": 2}) is None


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (1, 4), (2, 4), (4, 4), (5, 0)])
def test_the_limit_says_how_many_are_too_many(limit: int, expected: int) -> None:
    repeats = played("A1 A1 A1 A1", limit)
    assert repeats.times == expected
    assert (repeats.again("A", {}) is not None) == bool(expected)


def test_a_new_beginning_forgets_what_was() -> None:
    repeats = played("A1 A1 A1")
    repeats.clear()
    assert repeats.again("A", {}) is None


def test_a_long_run_stays_bounded() -> None:
    repeats = Repeats(3)
    for _ in range(2000):
        repeats.record("A", {}, "1")
    assert repeats.times >= 500


@pytest.mark.parametrize("arguments", ["no json", {1: 2, "a": 3}, [{1, 2}], None])
def test_any_arguments_have_a_canonical_text(arguments: object) -> None:
    assert canonical(arguments) == canonical(arguments)


def test_arguments_that_are_changed_later_count_as_they_were() -> None:
    repeats, arguments = Repeats(2), {"a": 1}
    repeats.record("f", arguments, "r")
    arguments["a"] = 2
    repeats.record("f", arguments, "r")

    assert repeats.times == 0
