"""Gemma's calls with its own quotes."""

import pytest

from forge.dialects import parse_tool_calls

TOOLS = [
    {
        "name": "note",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "tags": {"type": "array"},
                "count": {"type": "integer"},
            },
            "required": ["text"],
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]


def calls(text):
    return [(call.tool, call.args) for call in parse_tool_calls(text, TOOLS).calls]


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
