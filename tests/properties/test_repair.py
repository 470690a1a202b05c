"""Whatever text comes, the reader answers; what is valid JSON it reads as the standard library does."""

from __future__ import annotations

import json

import pytest
from costs import grows_linearly
from hypothesis import given
from hypothesis import strategies as st

from forge.repair.tolerant import read_json

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
# Names with quotes in them are left out: nobody names parameters so, and a repair must tell names from texts.
names = st.text(st.characters(exclude_characters="\"'“”‘’„＂＇`«»"), min_size=1, max_size=10)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5),
    max_leaves=25,
)
objects = st.dictionaries(names, values, max_size=6)
# Text made of what the reader gives a meaning, so that random text reaches its corners.
fragments = st.sampled_from(
    [
        *"{}[]()\"'`,:;=+-#/\\ \n\t“”，：｛｝",
        *(
            '"a"',
            "'b'",
            "key",
            "12",
            "0.5",
            "true",
            "None",
            "NaN",
            "//",
            "/*",
            "*/",
            '"""',
            "\\n",
            "\\u12",
            "```",
        ),
        *("</tool_call>", "<|", '": "', '", "', '"}', "é", "😀", "\ud800"),
    ]
)
noise = st.lists(fragments, max_size=60).map("".join) | st.text()


def dumped(value):
    return json.dumps(value, sort_keys=False)


@given(noise)
def test_any_text_gets_an_answer(text):
    reading = read_json(text, keys=frozenset({"a", "key"}))
    assert 0 <= reading.end <= len(text)
    assert reading.complete == (reading.fault == "")
    assert reading.complete or not reading.closed
    if reading.fault == "absent":
        assert reading.end == 0


@given(noise, st.integers(0, 30))
def test_reading_from_the_middle_equals_reading_the_rest(text, start):
    start = min(start, len(text))
    whole, rest = read_json(text, start), read_json(text[start:])
    assert (whole.end - start, dumped(whole.value), whole.fault) == (rest.end, dumped(rest.value), rest.fault)


@given(st.lists(values, max_size=4) | objects, st.booleans(), st.sampled_from([None, 0, 2]), noise)
def test_valid_json_is_read_as_json_loads_does(value, ascii_only, indent, rest):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    reading = read_json(text + "\n" + rest)
    assert dumped(reading.value) == dumped(json.loads(text))
    assert (reading.end, reading.fixes, reading.closed) == (len(text), (), True)


@given(objects, noise)
def test_what_was_read_reads_the_same_again(value, text):
    for written in (text, repr(value)):
        first = read_json(written)
        if first.complete and isinstance(first.value, dict | list):
            assert dumped(read_json(dumped(first.value)).value) == dumped(first.value)


@given(objects)
def test_a_python_repr_reads_back(value):
    reading = read_json(repr(value))
    assert reading.complete
    assert dumped(reading.value).replace("-0.0", "0.0") == dumped(value).replace("-0.0", "0.0")


@given(objects.filter(bool), st.data())
def test_a_cut_text_is_never_complete(value, data):
    text = data.draw(
        st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1), repr(value)])
    )
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert not read_json(cut).closed


@pytest.mark.parametrize(
    "unit",
    [
        '","',
        '" ',
        '"}',
        '"]',
        '" /*',
        '" #',
        '", "b',
        "\\d",
        "'",
        "{",
        "[",
        ",",
        '"""',
        '"""a"b,',
        "{a:b,",
        '+"x"',
        '"\\n',
        "[1,",
    ],
)
@pytest.mark.parametrize("lead", ['{"a": "', "["])
def test_cost_grows_with_the_text_and_no_faster(lead, unit):
    assert grows_linearly(lambda count: read_json(lead + unit * count), 4_000)
