"""PLaMo 3's marks."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls


def pair(word, inner):
    return f"<|plamo:begin_{word}:plamo|>{inner}<|plamo:end_{word}:plamo|>"


def request(name, arguments):
    return pair("tool_request", pair("tool_name", name) + pair("tool_arguments", arguments))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            pair("tool_requests", request("note", '{"text": "a"}') + request("ping", "{}")),
            [("note", {"text": "a"}), ("ping", {})],
            id="two requests",
        ),
        pytest.param(
            request("note", '<|plamo:msg|>{"text": "a"}'), [("note", {"text": "a"})], id="message token"
        ),
        pytest.param(
            pair("think", request("ping", "{}")) + request("note", '{"text": "a"}'),
            [("note", {"text": "a"})],
            id="a draft in thinking",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


def test_a_call_that_was_cut_off():
    text = pair("tool_requests", request("note", '{"text": "a"}')).partition('a"}')[0]
    reply = parse_tool_calls(text, TOOLS)
    assert [rejected.reason for rejected in reply.rejected] == ["cut_off"]
    assert reply.text == text
