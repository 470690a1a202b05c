"""The same call in two notations is one call."""

from forge.core.calls import ToolCall
from forge.dialects.repeats import Repeats

A = ToolCall("note", {"text": "a", "count": 1})
SAME = ToolCall("note", {"count": 1, "text": "a"})
OTHER = ToolCall("note", {"text": "b", "count": 1})


def test_in_one_notation_nothing_is_repeated():
    repeats = Repeats()
    assert [repeats.elsewhere(call, "json") for call in (A, A, OTHER)] == [False, False, False]


def test_in_another_notation_the_same_call_is():
    repeats = Repeats()
    repeats.elsewhere(A, "json")
    assert repeats.elsewhere(SAME, "hermes")
    assert not repeats.elsewhere(OTHER, "hermes")
    assert repeats.elsewhere(OTHER, "json")
    assert not repeats.elsewhere(A, "json")


def test_what_cannot_be_compared_is_not_repeated():
    repeats = Repeats()
    repeats.elsewhere(A, "json")
    strange = ToolCall("note", {"text": object()})
    assert not repeats.elsewhere(strange, "json")
    assert not repeats.elsewhere(strange, "hermes")
