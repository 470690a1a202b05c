from __future__ import annotations

import pytest

from forge.repair.boundary import ValueBoundary

VALUES = [
    pytest.param('{"a": 1}', id="object"),
    pytest.param('[1, [2, {"b": "]}"}]]', id="nested"),
    pytest.param('{"a": "\\"}\\\\"}', id="escapes"),
    pytest.param("{'a': 'x}', 'b': \"it's\"}", id="both-quotes"),
    pytest.param("{'a': 'what's new'}", id="apostrophe-in-single-quotes"),
    pytest.param('{"a": "The log says "disk full" twice."}', id="inner-quotes"),
    pytest.param('{"a": "5" disk", "b": {}}', id="odd-inner-quote"),
    pytest.param("{“a”： “b}”}", id="typographic"),
    pytest.param('{"a": "x" + "}"}', id="concatenation"),
    pytest.param("{a: {b: c}}", id="bare-words"),
    pytest.param('{"a": "", "b": "" }', id="empty-strings"),
    pytest.param('{"html": "<b class="x">}</b>"}', id="markup"),
    pytest.param("{}", id="empty"),
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("rest", ["", " ", "\n</tool_call>", "} trailing"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_value_ends_where_its_bracket_closes_however_it_is_split(value, rest, size):
    text = value + rest
    boundary, offset, end = ValueBoundary(), 0, None
    while offset < len(text) and end is None:
        piece = text[offset : offset + size]
        found = boundary.feed(piece)
        end = offset + found if found is not None else None
        offset += len(piece)
    assert end == len(value)


@pytest.mark.parametrize("value", VALUES)
def test_a_growing_buffer_gives_the_same_end(value):
    boundary = ValueBoundary()
    ends = [boundary.feed(value[: count + 1], count) for count in range(len(value))]
    assert ends == [None] * (len(value) - 1) + [len(value)]


@pytest.mark.parametrize("text", ['{"a": "}', '{"a": {"b": 1}', '{"a": "x\\"}', "{'a': '}"])
def test_an_open_value_has_no_end(text):
    boundary = ValueBoundary()
    assert boundary.feed(text) is None
    assert boundary.depth == 1


def test_it_knows_whether_an_end_mark_would_be_content():
    boundary = ValueBoundary()
    boundary.feed('{"a": "</tool_call>')
    assert boundary.in_string
    boundary.feed('"')
    assert not boundary.in_string
