"""One pair of marks, and every way in which a call is written between them."""

import tracemalloc

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


@pytest.mark.parametrize("count", [1, 2, 500])
def test_a_list_of_several_calls_that_fail_is_shown_once(count):
    miss = '{"name": "fly", "arguments": {}}'
    value = f'[{{"name": "note", "arguments": {{"text": "a"}}}}, {", ".join([miss] * count)}]'
    reply = parse_tool_calls(f"<tool_call>{value}</tool_call>", TOOLS)
    assert [(call.tool, call.args) for call in reply.calls] == [NOTE]
    assert ([rejected.name for rejected in reply.rejected], reply.text) == (["fly"] * count, value)


def test_a_list_of_calls_that_fail_is_not_kept_once_for_each_of_them():
    miss = '{"name": "fly", "arguments": {}}'
    text = f"<tool_call>[{', '.join([miss] * 2_000)}]</tool_call>"
    tracemalloc.start()
    try:
        reply = parse_tool_calls(text, TOOLS)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(text)
    finally:
        tracemalloc.stop()
    assert ([rejected.name for rejected in reply.rejected], reply.text) == (["fly"], text)
