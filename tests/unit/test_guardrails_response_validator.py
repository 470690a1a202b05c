"""Answers judged: which calls may run, and what the others get back."""

import pytest
from pydantic import BaseModel

from forge.core.calls import TextResponse, ToolCall
from forge.core.workflow import ToolSpec
from forge.guardrails import ResponseValidator

NAMES = ["fetch", "submit"]


class FetchParams(BaseModel):
    n: int
    deep: bool = False


SPEC = ToolSpec(name="fetch", description="", parameters=FetchParams)


def test_good_calls_come_back_as_they_are():
    calls = [ToolCall("fetch", {"a": 1}), ToolCall("submit", {})]
    result = ResponseValidator(NAMES).validate(calls)
    assert (result.tool_calls, result.nudge, result.needs_retry) == (calls, None, False)
    assert all(a is b for a, b in zip(result.tool_calls, calls, strict=True))


def test_an_empty_list_has_nothing_wrong_in_it():
    result = ResponseValidator(NAMES).validate([])
    assert (result.tool_calls, result.needs_retry) == ([], False)


def test_text_gets_a_retry_nudge_that_does_not_repeat_it():
    nudge = ResponseValidator(NAMES).validate(TextResponse("SECRET prose")).nudge
    assert (nudge.kind, nudge.role) == ("retry", "user")
    assert "not a valid tool call" in nudge.content
    assert "SECRET" not in nudge.content


def test_a_callers_own_words():
    validator = ResponseValidator(NAMES, retry_nudge_fn=lambda raw: f"no: {raw}")
    assert validator.validate(TextResponse("x")).nudge.content == "no: x"


def test_unknown_tools_are_named_first():
    calls = [ToolCall("fetch", "text"), ToolCall("nope", {}), ToolCall("fetch", {})]
    nudge = ResponseValidator(NAMES).validate(calls).nudge
    assert (nudge.kind, nudge.role) == ("unknown_tool", "tool")
    assert all(part in nudge.content for part in ["nope", "fetch", "submit", "does not exist"])


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        pytest.param("not json", "str", id="text"),
        pytest.param(None, "NoneType", id="none"),
        pytest.param([1, 2], "list", id="list"),
        pytest.param('{"n": 1', "str", id="cut-off"),
    ],
)
def test_arguments_that_are_no_object(args, kind):
    nudge = ResponseValidator(NAMES).validate([ToolCall("fetch", args)]).nudge
    assert nudge.kind == "tool_arg_validation"
    assert all(part in nudge.content for part in ["fetch", "JSON object", kind])


def test_each_call_of_a_rejected_batch_has_its_own_correction():
    calls = [
        ToolCall("fetch", {"n": "x"}, id="a"),
        ToolCall("nope", {}, id="b"),
        ToolCall("fetch", {"n": 1}, id="c"),
    ]
    result = ResponseValidator([SPEC]).validate(calls)
    bad, unknown, innocent = result.nudge.corrections
    assert (bad.content.split("]")[0], bad.tool_call_id, bad.problems[0].path) == (
        "[ToolArgValidationError",
        "a",
        "/n",
    )
    assert (unknown.content.split("]")[0], unknown.tool_call_id) == ("[UnknownTool", "b")
    assert (innocent.offending, innocent.tool_call_id) == (False, "c")
    assert [entry.correction is None for entry in result.judged] == [False, False, True]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"n": "3"}, {"n": 3}, id="numeric-text"),
        pytest.param('{"n": 3, "deep": "true",}', {"n": 3, "deep": True}, id="broken-json-text"),
        pytest.param({"arguments": {"n": 3}}, {"n": 3}, id="wrapped"),
    ],
)
def test_values_beyond_doubt_are_converted_and_noted(args, expected):
    (call,) = ResponseValidator([SPEC]).validate([ToolCall("fetch", args, id="i", reasoning="r")]).tool_calls
    assert (call.args, call.id, call.reasoning) == (expected, "i", "r")
    assert call.source.fixes


@pytest.mark.parametrize("args", [{"n": "many"}, {}, {"n": [1]}])
def test_values_that_break_the_schema_are_corrected(args):
    nudge = ResponseValidator([SPEC]).validate([ToolCall("fetch", args)]).nudge
    assert nudge.kind == "tool_arg_validation"
    assert "n" in nudge.content


def test_names_are_resolved_only_where_there_is_no_doubt():
    result = ResponseValidator(NAMES).validate([ToolCall("functions.Fetch", {})])
    assert result.tool_calls == [ToolCall("fetch", {})]
    assert ResponseValidator(NAMES).validate([ToolCall("fetsh", {})]).needs_retry


# -- calls in text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"tool": "fetch", "args": {"n": 1}}', id="own-keys"),
        pytest.param('<tool_call>\n{"name": "fetch", "arguments": {"n": 1}}\n</tool_call>', id="hermes"),
        pytest.param('{"name": "fetch", "parameters": {"n": 1}}', id="llama"),
        pytest.param(
            '<tool_call>{"name": "fetch", "arguments": "{\\"n\\": 1}"}</tool_call>', id="text-arguments"
        ),
    ],
)
def test_calls_in_text_are_judged_like_any_other(text):
    assert ResponseValidator([SPEC]).validate(TextResponse(text)).tool_calls == [ToolCall("fetch", {"n": 1})]


def test_rescued_arguments_are_checked_too():
    result = ResponseValidator([SPEC]).validate(TextResponse('{"tool": "fetch", "args": {"n": "many"}}'))
    assert (result.nudge.kind, result.nudge.role) == ("tool_arg_validation", "tool")


def test_a_rehearsal_in_thinking_is_no_call_and_thinking_is_kept():
    text = '<think>{"tool": "fetch", "args": {"n": 9}}</think>{"tool": "fetch", "args": {"n": 1}}'
    (call,) = ResponseValidator([SPEC]).validate(TextResponse(text)).tool_calls
    assert call.args == {"n": 1}
    assert '"n": 9' in call.reasoning


def test_what_stood_beside_a_call_is_kept():
    text = 'I will look it up.\n<tool_call>{"name": "fetch", "arguments": {"n": 1}}</tool_call>'
    assert ResponseValidator([SPEC]).validate(TextResponse(text)).text == "I will look it up."


def test_rescue_can_be_switched_off():
    text = TextResponse('{"tool": "fetch", "args": {"n": 1}}')
    assert ResponseValidator([SPEC], rescue_enabled=False).validate(text).needs_retry


def test_a_broken_call_is_told_what_is_broken():
    nudge = (
        ResponseValidator([SPEC])
        .validate(TextResponse('<tool_call>{"name": "fetch", "arguments": {"n": '))
        .nudge
    )
    assert nudge.kind == "retry"
    assert "fetch" in nudge.content
