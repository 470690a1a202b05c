"""Elements named after the tool."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "<note>\n<text>a</text>\n<count>2</count>\n</note>",
            [("note", {"text": "a", "count": 2})],
            id="lines",
        ),
        pytest.param(
            "<note>\n<text><i>a</i></text>\n</note>",
            [("note", {"text": "<i>a</i>"})],
            id="tags in a value",
        ),
        pytest.param(
            "<ping>\n</ping>",
            [("ping", {})],
            id="no parameters",
        ),
        pytest.param(
            '<note>{"text": "a"}</note>',
            [("note", {"text": "a"})],
            id="JSON inside",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<note>\n<text>a", id="cut off"),
        pytest.param("The <note> element is rare.", id="in a sentence"),
        pytest.param("<other>\n<text>a</text>\n</other>", id="other element"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
