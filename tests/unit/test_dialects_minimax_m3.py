"""MiniMax M3's marked tags."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls

M = "]<]minimax[>["


def invoke(name, body):
    return f'{M}<invoke name="{name}">{body}{M}</invoke>'


def value(key, text):
    return f"{M}<{key}>{text}{M}</{key}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{M}<tool_call>\n{invoke('note', value('text', 'a'))}\n{M}</tool_call>",
            [("note", {"text": "a"})],
            id="block",
        ),
        pytest.param(invoke("ping", ""), [("ping", {})], id="no block, no arguments"),
        pytest.param(
            f"<tool_call>\n{invoke('ping', '')}{M}</tool_call>",
            [("ping", {})],
            id="the first mark is missing",
        ),
        pytest.param(
            invoke("note", value("text", "a") + value("tags", value("item", "x") + value("item", "y"))),
            [("note", {"text": "a", "tags": ["x", "y"]})],
            id="list",
        ),
        pytest.param(
            invoke("note", value("text", "</text> and <b>")),
            [("note", {"text": "</text> and <b>"})],
            id="unmarked tags are content",
        ),
        pytest.param(
            invoke("note", value("text", "a") + value("count", "2")),
            [("note", {"text": "a", "count": 2})],
            id="typed",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text", [f"{M}<tool_call>\n", f'{M}<invoke name="note">{M}<text>a', f'{M}<invoke name="note"']
)
def test_a_call_that_was_cut_off(text):
    reply = parse_tool_calls(text, TOOLS)
    assert [rejected.reason for rejected in reply.rejected] == ["cut_off"]
    assert reply.text == text


def test_the_mark_alone_is_text():
    text = f"The mark is {M} here."
    assert parse_tool_calls(text, TOOLS).text == text
