"""Calls between special tokens."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n{"text": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
            [("note", {"text": "a"})],
            id="DeepSeek V3",
        ),
        pytest.param(
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>{"text": "a"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
            [("note", {"text": "a"})],
            id="DeepSeek V3.1",
        ),
        pytest.param(
            "<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>ping\n```json\n{}\n```<|tool_call_end|><|tool_calls_end|>",
            [("ping", {})],
            id="ASCII",
        ),
        pytest.param(
            '<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>{"text": "a"}<|tool_call_end|><|tool_calls_section_end|>',
            [("note", {"text": "a"})],
            id="Kimi K2",
        ),
        pytest.param(
            '<|open|>tools<|sep|><|open|>call tool="note" index="1"<|sep|><|open|>argument key="text" type="string"<|sep|>a<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
            [("note", {"text": "a"})],
            id="Kimi K3",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<|tool_calls_section_begin|><|tool_calls_section_end|>", id="empty"),
        pytest.param(
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>{"text": "a', id="cut off"
        ),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
