"""Calls as elements with a parameter element for each argument."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "<function=note>\n<parameter=text>\na\n</parameter>\n</function>",
            [("note", {"text": "a"})],
            id="block",
        ),
        pytest.param(
            "<function=note><parameter=text>a</parameter></function>",
            [("note", {"text": "a"})],
            id="one line",
        ),
        pytest.param(
            "<function=note><parameter=text>1</parameter><parameter=count>2</parameter></function>",
            [("note", {"text": "1", "count": 2})],
            id="typed",
        ),
        pytest.param(
            "<function=note><parameter=text><b>x</b> </parameter> y</parameter></function>",
            [("note", {"text": "<b>x</b> </parameter> y"})],
            id="markup in a value",
        ),
        pytest.param(
            "<function=note><parameter=text><function=ping></function></parameter></function>",
            [("note", {"text": "<function=ping></function>"})],
            id="a call in a value",
        ),
        pytest.param(
            "<function=note><parameter=text>\na\n</function>",
            [("note", {"text": "a"})],
            id="parameter not closed",
        ),
        pytest.param(
            '<invoke name="note"><parameter name="text">a</parameter></invoke>',
            [("note", {"text": "a"})],
            id="attributes",
        ),
        pytest.param(
            '<function name="note"><param name="text"><![CDATA[</param>]]></param></function>',
            [("note", {"text": "</param>"})],
            id="CDATA",
        ),
        pytest.param(
            "<function=ping></function>",
            [("ping", {})],
            id="no parameters",
        ),
        pytest.param(
            '<invoke name="ping"/>',
            [("ping", {})],
            id="self-closing",
        ),
        pytest.param(
            '<function=note>{"text": "a"}</function>',
            [("note", {"text": "a"})],
            id="JSON body",
        ),
        pytest.param(
            '<｜DSML｜invoke name="note"><｜DSML｜parameter name="text" string="true">5</｜DSML｜parameter></｜DSML｜invoke>',
            [("note", {"text": "5"})],
            id="DSML",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<function=note><parameter=text>a", id="cut off in a value"),
        pytest.param("<function=note><parameter=text>a</parameter>", id="cut off behind a value"),
        pytest.param("<function=other><parameter=text>a</parameter></function>", id="other name"),
        pytest.param("Use `#include <functional>`.", id="header file"),
        pytest.param("<function=note> is how it begins.", id="an opener alone"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
