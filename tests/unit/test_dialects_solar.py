"""Solar Open 2's tokens."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls


def argument(key, value):
    return f"<|tool_arg:start|>{key}<|tool_arg:value|>{value}<|tool_arg:end|>\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"<|tool_call:start|>note\n{argument('text', ' a ')}{argument('count', 2)}<|tool_call:end|>",
            [("note", {"text": " a ", "count": 2})],
            id="verbatim and typed",
        ),
        pytest.param("<|tool_call:start|>ping\n<|tool_call:end|>", [("ping", {})], id="no arguments"),
        pytest.param("<|tool_call:start|>ping<|tool_call:end|>", [("ping", {})], id="in one line"),
        pytest.param(
            "<|tool_call:start|>note\n<|tool_arg:start|>text<|tool_arg:value|>a<|tool_call:end|>",
            [("note", {"text": "a"})],
            id="the argument's end token is missing",
        ),
        pytest.param(
            "<|tool_call:start|>ping\n<|tool_call:end|>\n" * 2, [("ping", {}), ("ping", {})], id="two"
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<|tool_call:start|>note\n<|tool_arg:start|>text<|tool_arg:value|>a", "cut_off"),
        ("<|tool_call:start|>note\n" + argument("text", "a"), "cut_off"),
        ("<|tool_call:start|>fly\n<|tool_call:end|>", "unknown_tool"),
    ],
)
def test_what_gives_no_call(text, reason):
    reply = parse_tool_calls(text, TOOLS)
    assert [rejected.reason for rejected in reply.rejected] == [reason]
    assert reply.text == text
