"""Bodies between two marks that give no call."""

import pytest

from forge.dialects import ReplyScanner, parse_tool_calls

TOOLS = [{"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}]
GOOD = '<tool_call>{"name": "note", "arguments": {"text": "a"}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param('<tool_call>{"name": "note", "arguments": {"te', "cut_off", id="cut off"),
        pytest.param("<tool_call>", "cut_off", id="cut off behind the opener"),
        pytest.param("<tool_call>what is this?</tool_call>", "unreadable", id="no call"),
        pytest.param(
            '<tool_call>{"name": "other", "arguments": {}}</tool_call>', "unknown_tool", id="unknown"
        ),
    ],
)
def test_a_body_without_a_call_is_rejected_and_stays_text(text, reason):
    reply = parse_tool_calls(text, TOOLS)
    assert reply.calls == []
    assert [rejected.reason for rejected in reply.rejected] == [reason]
    assert reply.text == text


def test_a_good_call_behind_a_few_broken_ones_counts():
    text = (
        "<tool_calls>\n" + "{no call}\n" * 3 + '{"name": "note", "arguments": {"text": "a"}}\n</tool_calls>'
    )
    assert [call.args for call in parse_tool_calls(text, TOOLS).calls] == [{"text": "a"}]


def test_a_block_of_nothing_but_broken_calls_is_given_up_and_what_follows_it_counts():
    text = "<tool_calls>\n" + "{no call}\n" * 200 + "</tool_calls>\n" + GOOD
    reply = parse_tool_calls(text, TOOLS)
    assert [call.args for call in reply.calls] == [{"text": "a"}]
    assert reply.text.count("{no call}") == 200


def test_a_run_of_openers_that_gives_nothing_is_shown_whole_however_it_is_split():
    text = "<tool_call>" * 40 + "<tool_ca"
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(text[at : at + 7]) for at in range(0, len(text), 7)] + [scanner.finish()]
    assert "".join(part.text for part in parts) == parse_tool_calls(text, TOOLS).text == text
