"""Gemma's calls with its own quotes."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '<|tool_call>call:note{text:<|"|>a "b", {c}<|"|>,count:2}<tool_call|>',
            [("note", {"text": 'a "b", {c}', "count": 2})],
            id="Gemma 4",
        ),
        pytest.param(
            '<|tool_call>call:note{tags:[<|"|>x<|"|>,1],text:<|"|>a<|"|>}<tool_call|>',
            [("note", {"text": "a", "tags": ["x", 1]})],
            id="list",
        ),
        pytest.param(
            "<start_function_call>call:note{text:<escape>a<escape>,count:<escape>3<escape>}<end_function_call>",
            [("note", {"text": "a", "count": 3})],
            id="FunctionGemma",
        ),
        pytest.param(
            'call:default_api:note{text:"a"}',
            [("note", {"text": "a"})],
            id="bare with plain quotes",
        ),
        pytest.param(
            "<|tool_call>call:ping{}<tool_call|>",
            [("ping", {})],
            id="no arguments",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<|tool_call>call:note{text:<|"|>a', id="cut off"),
        pytest.param("<|tool_call>call:other{}<tool_call|>", id="other name"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
