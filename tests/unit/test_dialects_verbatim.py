"""Plain text values between tags."""

import pytest
from note_tools import calls

from forge.dialects.verbatim import stripped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\na\n", "a"),
        ("\n\na\n\n", "\na\n"),
        ("\r\na\r\n", "a"),
        (" a ", " a "),
        ("\n", ""),
        ("", ""),
    ],
)
def test_one_line_break_at_either_end_is_markup(text, expected):
    assert stripped(text) == expected


def pair(value):
    return f"<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>{value}</arg_value>\n</tool_call>"


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "a </arg_value> b",
        "<arg_value>a</arg_value>",
        "if a < b: pass",
        "</tool_call> is an end tag",
        "&amp; stays",
        "```\ncode\n```",
    ],
)
def test_a_value_is_kept_as_it_is(value):
    assert calls(pair(value)) == [("note", {"text": value})]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("<![CDATA[<b>&amp;</b>]]>", "<b>&amp;</b>"),
        ("\n<![CDATA[\na\n]]>\n", "\na\n"),
        ("a <![CDATA[b]]>", "a <![CDATA[b]]>"),
    ],
)
def test_cdata(body, value):
    text = f"<function=note><parameter=text>{body}</parameter></function>"
    assert calls(text) == [("note", {"text": value})]


def test_a_section_that_does_not_end_is_cut_off():
    assert calls("<function=note><parameter=text><![CDATA[a</parameter></function>") == []
