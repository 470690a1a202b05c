"""Values between tags: verbatim, with tags of the same kind inside of them."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import ReplyScanner


def block(*members):
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in members)
    return f"<tool_call>\n<function=note>\n{inner}</function>\n</tool_call>"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("<parameter=other>", id="the tag of an unknown parameter"),
        pytest.param("<parameter=text>", id="the tag of this parameter"),
        pytest.param("<parameter=count>", id="the tag of another parameter"),
        pytest.param("write <parameter=count> in front", id="such a tag within a line"),
        pytest.param("<parameter=x>1</parameter>", id="a whole element"),
        pytest.param("<function=ping>\n</function>", id="a whole call"),
        pytest.param("say </parameter> to end it", id="its own end tag within a line"),
        pytest.param("</tool_call>", id="the wrapper's end tag"),
    ],
)
@pytest.mark.parametrize("last", [True, False], ids=["last", "first"])
def test_markup_in_a_value_is_content(value, last):
    members = [("tags", "[1]"), ("text", value)]
    assert calls(block(*members[:: 1 if last else -1])) == [("note", {"tags": [1], "text": value})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "<function=note>\n<parameter=text>\na\n<parameter=count>\n2\n</parameter>\n</function>",
            {"text": "a", "count": 2},
            id="before the next parameter",
        ),
        pytest.param(
            "<function=note><parameter=text>a<parameter=count>2</parameter></function>",
            {"text": "a", "count": 2},
            id="in one line",
        ),
        pytest.param(
            "<function=note>\n<parameter=count>\n2\n</parameter>\n<parameter=text>\na\n</function>",
            {"count": 2, "text": "a"},
            id="before the call's end",
        ),
        pytest.param(
            "<function=note>\n<parameter=text>\n<parameter=text>\na\n</parameter>\n</function>",
            {"text": "a"},
            id="opened twice",
        ),
    ],
)
def test_a_missing_end_tag(text, expected):
    assert calls(text) == [("note", expected)]


def test_an_end_tag_within_a_line_is_no_end_where_the_reply_is_over():
    text = block(("text", "say </parameter> x"))
    assert calls(text[: text.index("</parameter>") + len("</parameter>")]) == []


def test_many_tags_in_a_value_are_read_once():
    scanner = ReplyScanner(TOOLS)
    text = block(("text", "<parameter=count> x " * 20_000))
    (call,) = [*scanner.feed(text).calls, *scanner.finish().calls]
    assert len(call.args["text"]) == 20 * 20_000
