"""Marks around calls."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '<tool_call>\n{"name": "note", "arguments": {"text": "a"}}\n</tool_call>',
            [("note", {"text": "a"})],
            id="valid JSON",
        ),
        pytest.param(
            "<tool_call>\n{'name': 'note', 'arguments': {'text': 'a',}}\n</tool_call>",
            [("note", {"text": "a"})],
            id="broken JSON",
        ),
        pytest.param(
            '<tool_call>{"name": "note", "arguments": {"text": "a"}}',
            [("note", {"text": "a"})],
            id="no end",
        ),
        pytest.param(
            '<tool_call>{"name": "note", "arguments": {"text": "a"}</tool_call>',
            [("note", {"text": "a"})],
            id="brace forgotten",
        ),
        pytest.param(
            '<tool_call>{"name": "note", "arguments": {"text": "</tool_call>"}}</tool_call>',
            [("note", {"text": "</tool_call>"})],
            id="end in a value",
        ),
        pytest.param(
            '<tool_call>{"name": "ping", "arguments": {}}<tool_call>{"name": "ping", "arguments": {}}</tool_call>',
            [("ping", {}), ("ping", {})],
            id="opener for the end",
        ),
        pytest.param(
            '<TOOLCALL>[{"name": "ping", "arguments": {}}, {"name": "note", "arguments": {"text": "a"}}]</TOOLCALL>',
            [("ping", {}), ("note", {"text": "a"})],
            id="list",
        ),
        pytest.param(
            '<tool_calls>\n{"name": "ping"}\n{what is this}\n{"name": "ping"}\n</tool_calls>',
            [("ping", {}), ("ping", {})],
            id="unreadable between two",
        ),
        pytest.param(
            '<tool_call name="note">{"text": "a"}</tool_call>',
            [("note", {"text": "a"})],
            id="name as an attribute",
        ),
        pytest.param(
            '<tool_call>{"name": "note", "arguments": {"text": "say "hi"}}</tool_call>',
            [("note", {"text": 'say "hi'})],
            id="broken quotes before the end",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<tool_call>what?</tool_call>", id="no call"),
        pytest.param('<tool_call>{"name": "note", "arguments": {"text": "a', id="cut off"),
        pytest.param('<response>{"name": "note"}</response>', id="data in a tag that promises nothing"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
