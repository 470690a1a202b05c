"""One pair of marks, and every way in which a call is written between them."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls

NOTE = ("note", {"text": "a"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('{"name": "note", "arguments": {"text": "a"}}', [NOTE], id="JSON"),
        pytest.param('[{"name": "note", "arguments": {"text": "a"}}]', [NOTE], id="JSON list"),
        pytest.param('note({"text": "a"})', [NOTE], id="name and JSON in parentheses"),
        pytest.param("note(text='a')", [NOTE], id="source"),
        pytest.param("[note(text='a'), ping()]", [NOTE, ("ping", {})], id="source list"),
        pytest.param('note\n{"text": "a"}', [NOTE], id="name and JSON"),
        pytest.param('note[ARGS]{"text": "a"}', [NOTE], id="Mistral"),
        pytest.param("<function=note><parameter=text>a</parameter></function>", [NOTE], id="element"),
        pytest.param('<function>note</function>\n{"text": "a"}', [NOTE], id="name element"),
        pytest.param("<name>note</name><arguments>{\"text\": 'a'}</arguments>", [NOTE], id="two elements"),
        pytest.param("note<arg_key>text</arg_key><arg_value>a</arg_value>", [NOTE], id="pairs"),
        pytest.param('call:note{text:<|"|>a<|"|>}', [NOTE], id="Gemma"),
        pytest.param("<note><text>a</text></note>", [NOTE], id="element named after the tool"),
        pytest.param("ping", [("ping", {})], id="name alone"),
    ],
)
def test_every_way(body, expected):
    assert calls(f"<tool_call>{body}</tool_call>") == expected


@pytest.mark.parametrize(
    ("body", "reason", "name"),
    [
        ('{"name": "fly", "arguments": {}}', "unknown_tool", "fly"),
        ('{"name": "note", "arguments": {"text": "a" "b" "c": :}}', "unreadable", "note"),
        ("note(1, 2)", "unreadable", "note"),
    ],
)
def test_a_body_that_gives_no_call(body, reason, name):
    text = f"<tool_call>{body}</tool_call>"
    (rejected,) = parse_tool_calls(text, TOOLS).rejected
    assert (rejected.reason, rejected.name, rejected.text) == (reason, name, text)
