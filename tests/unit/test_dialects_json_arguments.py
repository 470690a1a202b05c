"""Arguments behind a name."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls
from forge.dialects.json_arguments import begins_arguments


@pytest.mark.parametrize(
    ("char", "expected"), [("{", True), ("[", True), ('"', True), ("", False), ("a", False), ("<", False)]
)
def test_what_begins_arguments(char, expected):
    assert begins_arguments(char) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param('{"text": "a"}', {"text": "a"}, id="object"),
        pytest.param('{"text": "a"}{"text": "a"}', {"text": "a"}, id="printed twice"),
        pytest.param('[{"text": "a"}]', {"text": "a"}, id="in a list"),
        pytest.param('"{\\"text\\": \\"a\\"}"', {"text": "a"}, id="encoded"),
        pytest.param("{'text': 'it\\'s', \"count\": 1,}", {"text": "it's", "count": 1}, id="mended"),
    ],
)
def test_arguments(arguments, expected):
    assert calls(f"[TOOL_CALLS]note[ARGS]{arguments}") == [("note", expected)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[TOOL_CALLS]note[ARGS]{"text": "a"', "cut_off"),
        ('[TOOL_CALLS]note[ARGS]{"text": ', "cut_off"),
        ('[TOOL_CALLS]fly[ARGS]{"text": "a"}', "unknown_tool"),
    ],
)
def test_what_gives_no_call(text, reason):
    reply = parse_tool_calls(text, TOOLS)
    assert reply.calls == []
    assert [rejected.reason for rejected in reply.rejected] == [reason]
    assert reply.text == text
