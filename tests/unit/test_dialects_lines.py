"""ReAct lines and Functionary's arrows."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            'Thought: go\nAction: note\nAction Input: {"text": "a"}',
            [("note", {"text": "a"})],
            id="object",
        ),
        pytest.param(
            "Action: note\nAction Input: some words\n",
            [("note", {"text": "some words"})],
            id="plain text in a whole line",
        ),
        pytest.param(
            'Action: note\nAction Input: {"text": "a"}\nObservation: ok\nAction: ping\nAction Input: {}',
            [("note", {"text": "a"})],
            id="what follows an observation is invented",
        ),
        pytest.param(
            'Action: note({"text": "a"})',
            [("note", {"text": "a"})],
            id="in parentheses",
        ),
        pytest.param(
            "Action: ping\nAction Input: None\n",
            [("ping", {})],
            id="no input",
        ),
        pytest.param(
            '>>>note\n{"text": "a"}',
            [("note", {"text": "a"})],
            id="Functionary",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Action: note\nAction Input: some wor", id="plain text that may go on"),
        pytest.param("Action: other\nAction Input: {}", id="other name"),
        pytest.param(">>>all\nHello", id="Functionary's text"),
        pytest.param("It prints Action: note and waits.", id="in a sentence"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
