"""Calls without any marks."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{"name": "note", "arguments": {"text": "a"}}',
            [("note", {"text": "a"})],
            id="object",
        ),
        pytest.param(
            'Now:\n{"name": "note", "arguments": {"text": "a"}}\nDone.',
            [("note", {"text": "a"})],
            id="object between lines",
        ),
        pytest.param(
            '{"name": "ping", "arguments": {}}, {"name": "note", "arguments": {"text": "b"}}',
            [("ping", {}), ("note", {"text": "b"})],
            id="several",
        ),
        pytest.param(
            '{"name": "ping", "arguments": {}}{"name": "ping", "arguments": {}}',
            [("ping", {})],
            id="printed twice in a row",
        ),
        pytest.param(
            '{\\n"name": "ping",\\n"arguments": {}}',
            [("ping", {})],
            id="line breaks written as escapes",
        ),
        pytest.param(
            '[{"name": "ping", "arguments": {}}]',
            [("ping", {})],
            id="list",
        ),
        pytest.param(
            "[ping(), note(text='a')]",
            [("ping", {}), ("note", {"text": "a"})],
            id="source list",
        ),
        pytest.param(
            'note(text="a");',
            [("note", {"text": "a"})],
            id="source",
        ),
        pytest.param(
            'note\n{"text": "a"}',
            [("note", {"text": "a"})],
            id="name and object",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('The entry {"name": "note", "arguments": {"text": "a"}} is old.', id="in a sentence"),
        pytest.param('{"name": "note", "stars": 3}', id="data"),
        pytest.param('{"name": "note", "arguments": {"text": "a', id="cut off"),
        pytest.param('{"name": "other", "arguments": {}}', id="other name"),
        pytest.param("See [note](note.md).", id="Markdown link"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
