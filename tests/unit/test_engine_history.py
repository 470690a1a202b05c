"""Reading the calls out of a transcript."""

from __future__ import annotations

import pytest
from msgspec import Raw

from forge.core.request import Call, ChatMessage, Opaque, Result, Text
from forge.engine.history import PastCall, past_calls, since_the_user_spoke


def asked(*calls: Call) -> ChatMessage:
    return ChatMessage(role="assistant", parts=calls)


def got(*results: Result) -> ChatMessage:
    return ChatMessage(role="tool", parts=results)


def said(text: str, *results: Result) -> ChatMessage:
    return ChatMessage(role="user", parts=(*results, Text(text)))


A, B = Call(id="1", name="a", arguments='{"x": 1}'), Call(id="2", name="b", arguments="")


def test_results_are_paired_by_id_in_any_order() -> None:
    calls = past_calls([said("go"), asked(A, B), got(Result("2", "two")), got(Result("1", "one"))])
    assert calls == [PastCall("a", A.arguments, "one"), PastCall("b", "", "two")]


def test_equal_ids_are_paired_in_order() -> None:
    calls = past_calls(
        [asked(A, A), got(Result("1", "one")), got(Result("1", "two")), got(Result("1", "three"))]
    )
    assert [call.result for call in calls] == ["one", "two"]


def test_arguments_are_decoded_when_they_are_wanted() -> None:
    assert [PastCall("a", written).arguments for written in (A.arguments, "")] == [{"x": 1}, {}]


def test_a_call_without_a_result_has_none() -> None:
    assert past_calls([asked(A)]) == [PastCall("a", A.arguments)]


def test_arguments_that_are_no_json_stay_text() -> None:
    assert past_calls([asked(Call(id="1", name="a", arguments="{x"))])[0].arguments == "{x"


def test_what_is_not_text_is_part_of_the_result() -> None:
    first, second = (
        past_calls([asked(A), ChatMessage(role="tool", parts=(Result("1", ""), Opaque(Raw(image))))])[0]
        for image in (b'"one"', b'"two"')
    )
    assert first.result != second.result


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such file",
        "Error reading a.txt",
        '{"error": 0.5}',
        '{"error": 404}',
        "  error",
        "[ToolError] ValueError: x",
        "[ToolArgValidationError] x",
        "[NotRun] x",
        "<tool_use_error>x</tool_use_error>",
        "Traceback (most recent call last):\n...",
        '{"error": "no"}',
        '{ "error": {"code": 1}}',
        '{"isError": true}',
        "This call was not run.",
    ],
)
def test_what_says_that_it_failed(text: str) -> None:
    assert past_calls([asked(A), got(Result("1", text))])[0].failed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "No errors found",
        "errors: 0",
        '{"error": null}',
        '{"error": ""}',
        '{"errors": []}',
        "the error is gone",
        "Error rate: 0.2 %",
        "Error-free since March",
        '{"error": 0, "data": []}',
    ],
)
def test_what_does_not(text: str) -> None:
    assert not past_calls([asked(A), got(Result("1", text))])[0].failed


def test_a_result_that_is_marked_failed_did_fail() -> None:
    assert past_calls([asked(A), got(Result("1", "fine", is_error=True))])[0].failed


def test_the_users_last_word_is_no_text_beside_results() -> None:
    messages = [said("go"), asked(A), said("by the way", Result("1", "one")), asked(B)]
    assert list(since_the_user_spoke(messages, 9)) == messages[1:]


def test_without_a_word_of_the_users_everything_counts() -> None:
    assert list(since_the_user_spoke([asked(A)], 9)) == [asked(A)]


def test_no_more_is_looked_at_than_was_asked_for() -> None:
    messages = [said("go"), *([asked(A, B), got(Result("1", "one")), got(Result("2", "two"))] * 5)]
    assert len(since_the_user_spoke(messages, 3)) == 6
