"""Code fences: calls and nothing else, or text."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "a"}}\n```',
            [("note", {"text": "a"})],
            id="json",
        ),
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "a"}}\n',
            [("note", {"text": "a"})],
            id="left open",
        ),
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "```\\nx\\n```"}}\n```',
            [("note", {"text": "```\nx\n```"})],
            id="fence in a value",
        ),
        pytest.param(
            '```xml\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>\n```',
            [("ping", {})],
            id="tag inside",
        ),
        pytest.param(
            '```tool_code\nprint(default_api.note(text="a"))\n```',
            [("note", {"text": "a"})],
            id="tool_code",
        ),
        pytest.param(
            '```tool_code\nresult = note(text="a")\nprint(result)\n```',
            [("note", {"text": "a"})],
            id="assignment in tool_code",
        ),
        pytest.param(
            "```tool\nTOOL_NAME: note\nBEGIN_ARG: text\na\nb\nEND_ARG\n```",
            [("note", {"text": "a\nb"})],
            id="Continue block",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```python\nfor x in y:\n    note(text=x)\n```", id="program"),
        pytest.param('```tool_code\nx == note(text="a")\n```', id="comparison in tool_code"),
        pytest.param(
            'For example:\n```json\n{"name": "note", "arguments": {"text": "a"}}\n```', id="example"
        ),
        pytest.param('Write `{"name": "ping", "arguments": {}}`.', id="inline"),
        pytest.param('```diff\n{"name": "ping", "arguments": {}}\n```', id="other language"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
