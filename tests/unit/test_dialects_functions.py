"""The tags that begin a call by themselves."""

import pytest

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.registry import NOTATIONS

TOOLS = [
    "ping",
    {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]
ELEMENT = next(notation for notation in NOTATIONS if notation.name == "function_xml")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        pytest.param("<function=ping><function=ping></function>", 15, id="followed by another one"),
        pytest.param("<function=ping>\n<function=a> <function=b>", 29, id="only the last of a run is left"),
        pytest.param("<function=ping></function>", -1, id="a call"),
        pytest.param("<function=ping>", -1, id="not known yet"),
    ],
)
def test_an_overtaken_tag_is_text(text, end):
    assert ELEMENT.plain(text, 0) == end


def test_a_run_of_tags_leaves_the_call_at_its_end():
    reply = parse_tool_calls("<function=ping>" * 50 + "</function>", TOOLS)
    assert [(call.tool, call.args) for call in reply.calls] == [("ping", {})]
    assert reply.text.count("<function=ping>") == 49


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<function=note><parameter=text>a</parameter></function>", id="in one step"),
        pytest.param(
            "<function=note><parameter=text>a < b</parameter></function>", id="with a tag's first character"
        ),
        pytest.param('note[ARGS]{"text": "a"}', id="token lost"),
        pytest.param('[TOOL_CALLS]note[ARGS]{"text": "a"}', id="tokens"),
        pytest.param('[TOOL_CALLS][{"name": "note", "arguments": {"text": "a"}}]', id="list"),
    ],
)
def test_pieces_of_one_character_give_the_same(text):
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(char) for char in text] + [scanner.finish()]
    whole = parse_tool_calls(text, TOOLS)
    assert len(whole.calls) == 1
    assert [call for part in parts for call in part.calls] == whole.calls
