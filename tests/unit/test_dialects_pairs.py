"""Arguments as key and value elements."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
            [("note", {"text": "a"})],
            id="lines",
        ),
        pytest.param(
            "<tool_call>note<arg_key>text</arg_key><arg_value>7</arg_value><arg_key>count</arg_key><arg_value>7</arg_value></tool_call>",
            [("note", {"text": "7", "count": 7})],
            id="compact and typed",
        ),
        pytest.param(
            "<tool_call>ping</tool_call>",
            [("ping", {})],
            id="no arguments",
        ),
        pytest.param(
            "<tool_call>notetext</arg_key><arg_value>a</arg_value></tool_call>",
            [("note", {"text": "a"})],
            id="key glued to the name",
        ),
        pytest.param(
            "<tool_call>note<arg_key>text<arg_value>a</arg_value></tool_call>",
            [("note", {"text": "a"})],
            id="key not closed",
        ),
        pytest.param(
            "<tool_call>note\n<tool_call>text</arg_key><arg_value>a</arg_value></tool_call>",
            [("note", {"text": "a"})],
            id="key's tag written as the wrapper's",
        ),
        pytest.param(
            "<longcat_tool_call>note<longcat_arg_key>text</longcat_arg_key><longcat_arg_value>a</longcat_arg_value></longcat_tool_call>",
            [("note", {"text": "a"})],
            id="LongCat",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<tool_call>note<arg_key>text</arg_key><arg_value>a", id="cut off in a value"),
        pytest.param(
            "<tool_call>note<arg_key>text</arg_key><arg_value>a</arg_value>", id="cut off behind a value"
        ),
        pytest.param("<tool_call>note\n<tool_call>te", id="cut off in a key's wrong tag"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
