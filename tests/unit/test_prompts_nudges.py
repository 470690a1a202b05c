"""Corrections hold what callers match on and what a model needs; they never repeat what it wrote."""

import pytest

from forge.prompts import nudges


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(nudges.retry_nudge("SECRET"), ["not a valid tool call"], id="retry"),
        pytest.param(
            nudges.broken_call_nudge("unreadable", "f", ["f"]), ["not a valid tool call", "f"], id="broken"
        ),
        pytest.param(nudges.broken_call_nudge("cut_off", None, []), ["not a valid tool call"], id="cut"),
        pytest.param(
            nudges.broken_call_nudge("unknown_tool", "g", ["f"]), ["'g'", "does not exist", "f"], id="other"
        ),
        pytest.param(nudges.empty_answer_nudge(), ["not a valid tool call"], id="empty"),
        pytest.param(
            nudges.unknown_tool_nudge("x", ["a", "b"]), ["x", "a", "b", "does not exist"], id="unknown"
        ),
        pytest.param(nudges.unknown_tool_nudge("x", ["ab"], ["ab"]), ["Did you mean 'ab'?"], id="closest"),
        pytest.param(nudges.step_nudge("end", ["a", "b"]), ["cannot call end yet", "a", "b"], id="tier-1"),
        pytest.param(
            nudges.step_nudge("end", ["a"], 2), ["must call one of these tools now", "a"], id="tier-2"
        ),
        pytest.param(nudges.step_nudge("end", ["a"], 9), ["STOP", "Do NOT call end", "a"], id="tier-3"),
        pytest.param(nudges.step_nudge("end", ["a"], 0), ["cannot call end yet"], id="tier-clamped"),
        pytest.param(
            nudges.tool_arg_validation_nudge("f", "x"), ["f", "JSON object", "str", "'x'"], id="str"
        ),
        pytest.param(nudges.tool_arg_validation_nudge("f", None), ["JSON object", "NoneType"], id="none"),
        pytest.param(nudges.tool_arg_validation_nudge("f", [1]), ["JSON object", "list"], id="list"),
        pytest.param(nudges.prerequisite_nudge("f", ["a", "b"]), ["f", "a", "b"], id="prerequisite"),
    ],
)
def test_contains(text, parts):
    assert [part for part in parts if part not in text] == []
    assert "SECRET" not in text


def test_long_arguments_are_not_shown_whole():
    assert len(nudges.tool_arg_validation_nudge("f", "x" * 10_000)) < 600
