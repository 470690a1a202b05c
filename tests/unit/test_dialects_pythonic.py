"""Calls as source text."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "[note(text='a', count=1), ping()]",
            [("note", {"text": "a", "count": 1}), ("ping", {})],
            id="list",
        ),
        pytest.param(
            "[note(text='a', tags=[{'x': None, 'y': (1, True)}])]",
            [("note", {"text": "a", "tags": [{"x": None, "y": [1, True]}]})],
            id="nested values",
        ),
        pytest.param(
            "[\"note(text='a')\"]",
            [("note", {"text": "a"})],
            id="strings",
        ),
        pytest.param(
            '<tool_call>note({"text": "a"})</tool_call>',
            [("note", {"text": "a"})],
            id="dict as the only argument",
        ),
        pytest.param(
            "[note('a')]",
            [("note", {"text": "a"})],
            id="positional for one required",
        ),
        pytest.param(
            "[note(text=':-) (')]",
            [("note", {"text": ":-) ("})],
            id="parenthesis in a string",
        ),
        pytest.param(
            '[note(text="""it\'s "so" """)]',
            [("note", {"text": 'it\'s "so" '})],
            id="three quotes",
        ),
        pytest.param(
            '<|python_tag|>note.call(text="a")',
            [("note", {"text": "a"})],
            id="built-in style",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[note(text='a", id="cut off"),
        pytest.param("[note(text=a + b)]", id="expression"),
        pytest.param("[note('a', 'b')]", id="two positional"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
