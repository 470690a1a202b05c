import json

import pytest
from costs import grows_linearly
from hypothesis import given
from hypothesis import strategies as st

from forge.wire.json_text import depth_within, dumps, is_json, loads, strict, well_formed

HALF = "\ud83d"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"a": 1}', b'{"a": 1}', id="right as it is"),
        pytest.param(b'["\\ud83d"]', b'["\\ufffd"]', id="first half"),
        pytest.param(b'["\\uDE00 x"]', b'["\\ufffd x"]', id="second half"),
        pytest.param(b'["\\ud83d\\ude00"]', b'["\\ud83d\\ude00"]', id="a pair"),
        pytest.param(b'["\\ud83d\\ud83d\\ude00"]', b'["\\ufffd\\ud83d\\ude00"]', id="half before a pair"),
        pytest.param(b'["\\\\ud83d"]', b'["\\\\ud83d"]', id="an escaped backslash"),
        pytest.param(b'{"a":NaN,"b":-Infinity}', b'{"a":null,"b":null}', id="not finite"),
        pytest.param(b'["NaN \\" Infinity"]', b'["NaN \\" Infinity"]', id="words in a string"),
    ],
)
def test_strict_mends_only_what_no_parser_takes(body, expected):
    assert strict(body) == expected


@given(st.recursive(st.none() | st.floats() | st.text(st.characters(exclude_categories=())), st.lists))
def test_whatever_python_writes_is_json_after_strict(value):
    assert is_json(strict(json.dumps(value).encode()))


@given(st.text(st.characters(exclude_categories=())))
def test_dumps_writes_every_text(text):
    assert json.loads(dumps(text)) == json.loads(json.dumps(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("é🎉", "é🎉", id="right as it is"),
        pytest.param(HALF, "\ufffd", id="half"),
        pytest.param(f"a{HALF}\ude00b", "a😀b", id="halves together"),
        pytest.param(f"\ude00{HALF}", "\ufffd\ufffd", id="halves in the wrong order"),
    ],
)
def test_well_formed(text, expected):
    assert well_formed(text) == expected


def test_loads_keeps_halves_and_reads_nan():
    assert loads(b'"\\ud83d"') == HALF
    assert loads(b"[NaN]")[0] != loads(b"[NaN]")[0]
    assert loads(b'"\xff"') == "\ufffd"


@pytest.mark.parametrize("data", [b"", b"{", b"nope", b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000])
def test_loads_raises_only_value_errors(data):
    with pytest.raises(ValueError):
        loads(data)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("{}", True),
        (' {"a": [1]} ', True),
        ("", False),
        ('{"a": 1} x', False),
        ('{"a": NaN}', False),
        ('"\\ud83d"', False),
        ("{'a': 1}", False),
        ("[" * 100_000, False),
        ('"' + HALF + '"', False),
    ],
)
def test_is_json(text, right):
    assert is_json(text) is right


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value] if depth % 2 else {"a": value}
    return value


@pytest.mark.parametrize(("depth", "within"), [(0, True), (64, True), (65, False), (3000, False)])
def test_depth_within(depth, within):
    assert depth_within(nested(depth)) is within


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(rb'{"a": "\", NaN', id="closed-nowhere"),
        pytest.param(b'{"a": "b\\', id="cut-in-an-escape"),
    ],
)
def test_a_string_that_is_not_closed_stays(body):
    assert strict(body) == body


@pytest.mark.parametrize("escape", [rb"\"", rb"\\\"", b"\\u0022"], ids=repr)
def test_a_body_that_was_cut_off_in_a_string_costs_what_its_size_does(escape):
    assert grows_linearly(lambda count: strict(b'{"a": "' + escape * count), 4_000)
