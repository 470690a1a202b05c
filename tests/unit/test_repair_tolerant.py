from __future__ import annotations

import json

import json_repair
import pytest

from forge.core.ledger import Risk
from forge.repair.tolerant import read_json

SAFE_REPAIRS = [
    pytest.param(
        "{'room': 'bath', 'on': True, 'x': None}",
        {"room": "bath", "on": True, "x": None},
        id="python-literals",
    ),
    pytest.param("{'q': \"what's new\"}", {"q": "what's new"}, id="mixed-quotes"),
    pytest.param(r"{'q': 'it\'s'}", {"q": "it's"}, id="escaped-apostrophe"),
    pytest.param('{"a": undefined, "b": TRUE}', {"a": None, "b": True}, id="javascript-literals"),
    pytest.param('{"a": ["x", "y",], "b": 1,}', {"a": ["x", "y"], "b": 1}, id="trailing-commas"),
    pytest.param('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, id="doubled-comma"),
    pytest.param('{, "a": 1}', {"a": 1}, id="leading-comma"),
    pytest.param('{"a": "Ulm" "b": 1}', {"a": "Ulm", "b": 1}, id="missing-comma"),
    pytest.param('[1 2 "x" {"a": 1} []]', [1, 2, "x", {"a": 1}, []], id="missing-commas-in-list"),
    pytest.param('{"a": 1, // one\n "b": 2 /* two */ # end\n}', {"a": 1, "b": 2}, id="comments"),
    pytest.param(
        '{"u": "https://x.y//z#a", "v": 1,}', {"u": "https://x.y//z#a", "v": 1}, id="no-comment-in-string"
    ),
    pytest.param(
        '{name: "x", $y: {z_1: 2}, a-b: 3}', {"name": "x", "$y": {"z_1": 2}, "a-b": 3}, id="bare-keys"
    ),
    pytest.param('{"a": "one\n\ttwo\r\nthree"}', {"a": "one\n\ttwo\r\nthree"}, id="raw-breaks"),
    pytest.param(
        r'{"a": "\d{4}-\w+", "b": "C:\Projects\App.cs"}',
        {"a": r"\d{4}-\w+", "b": r"C:\Projects\App.cs"},
        id="bad-escapes",
    ),
    pytest.param(r'{"a": "\x41\u{1F600}\`"}', {"a": "A😀`"}, id="javascript-escapes"),
    pytest.param('{"a": \\n10, "b": 20\\n}', {"a": 10, "b": 20}, id="literal-backslash-n-between"),
    pytest.param("{“a”: “b”, ‘c’: ‘d’}", {"a": "b", "c": "d"}, id="typographic-quotes"),
    pytest.param(
        '{"a": "Er sagte “nein”, dann ging er.",}',
        {"a": "Er sagte “nein”, dann ging er."},
        id="typographic-content",
    ),
    pytest.param('｛"a"：1，"b"：［2，3］｝', {"a": 1, "b": [2, 3]}, id="full-width"),
    pytest.param('{"a": "x" + "y" +\n\'z\'}', {"a": "xyz"}, id="concatenation"),
    pytest.param('{"a": """say "hi"\nnow""", "b": 1}', {"a": 'say "hi"\nnow', "b": 1}, id="triple-quotes"),
    pytest.param("{'a': '''it's'''}", {"a": "it's"}, id="triple-apostrophes"),
    pytest.param('{"a": `tick`}', {"a": "tick"}, id="backticks"),
    pytest.param(
        '{"a": 1_000, "b": 007, "c": +5, "d": .5, "e": 0xFF}',
        {"a": 1000, "b": 7, "c": 5, "d": 0.5, "e": 255},
        id="numbers",
    ),
    pytest.param('{{"a": {"b": 1}}}', {"a": {"b": 1}}, id="doubled-braces"),
    pytest.param('{"a": {"b": 1}{"b": 1}}', {"a": {"b": 1}}, id="value-printed-twice"),
    pytest.param('{"a" = 1, "b" => 2}', {"a": 1, "b": 2}, id="other-colons"),
    pytest.param("{'a': (1, 'x')}", {"a": [1, "x"]}, id="tuple"),
    pytest.param("{'a': r'\\d+', 'b': u'x'}", {"a": r"\d+", "b": "x"}, id="string-prefixes"),
    pytest.param(
        '{"pattern": "a,}b", "path": "data",}',
        {"pattern": "a,}b", "path": "data"},
        id="comma-brace-in-string",
    ),
    pytest.param('\ufeff{"a": 1,}', {"a": 1}, id="byte-order-mark"),
]

RISKY_REPAIRS = [
    pytest.param(
        '{"a": "The log says "disk full" twice."}',
        {"a": 'The log says "disk full" twice.'},
        id="inner-quotes",
    ),
    pytest.param(
        '{"a": "env.get("HOST", "localhost")"}',
        {"a": 'env.get("HOST", "localhost")'},
        id="inner-quotes-commas",
    ),
    pytest.param('{"a": "{"city": "Paris"}"}', {"a": '{"city": "Paris"}'}, id="json-unescaped"),
    pytest.param('{"a": "<a href="x">y</a>", "b": 1}', {"a": '<a href="x">y</a>', "b": 1}, id="html"),
    pytest.param(
        '{"a": "x = {"k": 1, "b": "z"}", "c": 2}',
        {"a": 'x = {"k": 1, "b": "z"}', "c": 2},
        id="dict-in-string",
    ),
    pytest.param('{"a": "f("}")"}', {"a": 'f("}")'}, id="brace-in-quotes"),
    pytest.param("{'a': 'what's new', 'b': 1}", {"a": "what's new", "b": 1}, id="inner-apostrophe"),
    pytest.param(
        '{"city": New York, "d": 2026-08-09}', {"city": "New York", "d": "2026-08-09"}, id="bare-strings"
    ),
    pytest.param('{"city": Paris"}', {"city": "Paris"}, id="opening-quote-missing"),
    pytest.param('{"city: "Paris"}', {"city": "Paris"}, id="key-quote-missing"),
    pytest.param('{"a": , "b": 1}', {"a": None, "b": 1}, id="value-missing"),
    pytest.param('{"a" 1}', {"a": 1}, id="colon-missing"),
    pytest.param('{"a": NaN}', {"a": None}, id="nan"),
    pytest.param(
        '{"l": [{"a": 1, "b": [2}], "z": 3}', {"l": [{"a": 1, "b": [2]}], "z": 3}, id="inner-closer-missing"
    ),
    pytest.param('[{"a": 1]', [{"a": 1}], id="brace-missing-before-bracket"),
    pytest.param(r'{"p": "\bfoo\d"}', {"p": r"\bfoo\d"}, id="word-boundary"),
    pytest.param(r'{"p": "C:\Projects\new"}', {"p": r"C:\Projects\new"}, id="drive-path"),
]


@pytest.mark.parametrize(("text", "value"), SAFE_REPAIRS)
def test_one_possible_reading_is_safe(text, value):
    reading = read_json(text, keys=frozenset({"b", "c"}))
    assert reading.value == value
    assert (reading.complete, reading.closed, reading.end) == (True, True, len(text))
    assert reading.fixes
    if "C:" not in text:
        assert reading.risk is Risk.SAFE


@pytest.mark.parametrize(("text", "value"), RISKY_REPAIRS)
def test_a_chosen_reading_is_risky(text, value):
    reading = read_json(text, keys=frozenset({"a", "b", "c", "d"}) - {"b"} if "dict" in text else frozenset())
    if 'x = {"k"' in text:
        reading = read_json(text, keys=frozenset({"a", "c"}))
    assert reading.value == value
    assert reading.complete
    assert reading.risk is Risk.RISKY


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b',
        '{"a":',
        '{"a"',
        '{"a": 1',
        '{"a": 15, "b": 2',
        "[1, 2",
        '{"a": "b",',
        '{"a": {"b": 1',
        '{"name": "x", "arguments": {"a": "b"',
        '{"a": tru',
        '{"a": "x\\',
        '{"a": "x\\u00',
        "{'a': 'b",
        '{"a": """x',
        '{"a": "say "hi',
        "12",
        "{",
        "[",
    ],
)
def test_what_is_cut_off_is_never_completed(text):
    assert not read_json(text).complete


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ('{"name": "x", "arguments": {"a": 1}', False),
        ('{"name": "x", "arguments": {"a": 1}\n', False),
        ('{"name": "x", "arguments": {"a": 1}\n</tool_call>', True),
        ('{"name": "x", "arguments": {"a": "b"\n```', True),
        ('{"name": "x", "arguments": {"a": 1</tool_call>', True),
        ('{"name": "x", "arguments": {"a": "b"<|im_end|>', True),
        ('{"name": "x", "arguments": {"a": "b"[/TOOL_CALLS]', True),
    ],
)
def test_missing_closers_are_supplied_where_the_values_are_whole(text, closed):
    reading = read_json(text)
    assert reading.complete
    assert reading.closed is closed
    assert {fix.code for fix in reading.fixes} == {"missing_closer"}
    assert reading.value["name"] == "x"


def test_the_next_object_ends_one_whose_brace_was_lost():
    text = '{"name": "x", "arguments": {"a": 1}\n{"name": "y", "arguments": {}}'
    first = read_json(text)
    assert first.value == {"name": "x", "arguments": {"a": 1}}
    assert first.complete
    assert read_json(text, first.end).value == {"name": "y", "arguments": {}}


@pytest.mark.parametrize("text", ["", "   ", "hello", "}", ",", ":", "<b>", "// only a comment\n", "```"])
def test_no_value_is_no_reading(text):
    reading = read_json(text)
    assert (reading.end, reading.complete, reading.fault) == (0, False, "absent")


@pytest.mark.parametrize("opener", ["[", '{"a":', "[{'a':", "{a:["])
def test_deep_nesting_is_refused(opener):
    assert read_json(opener * 100_000).fault == "too_deep"


def test_valid_but_deep_nesting_is_refused():
    assert read_json("[" * 200 + "]" * 200).fault == "too_deep"
    assert read_json("[" * 100 + "]" * 100).complete


@pytest.mark.parametrize("text", ['{"a": 1} rest', "  [1] ]", '"x" y', "{'a': 1} {'b': 2}"])
def test_the_end_is_where_a_scanner_goes_on(text):
    reading = read_json(text)
    assert text[: reading.end].strip()[-1] in '}]"'
    assert reading.end < len(text)


def test_reading_starts_anywhere():
    assert read_json("call: {'a': 1}", 6).value == {"a": 1}


def test_known_keys_decide_where_a_text_with_quotes_ends():
    text = '{"content": "a "b", "mode": "c", "path": "d"}'
    assert read_json(text, keys=frozenset({"content", "path"})).value == {
        "content": 'a "b", "mode": "c',
        "path": "d",
    }


def test_fixes_say_where():
    reading = read_json("{'a': [1, {'b~/c': tRUE, 'd': None}]}")
    assert {fix.path for fix in reading.fixes if fix.code == "literal"} == {"/a/1/d"}


def test_the_ledger_stays_bounded_and_keeps_the_worst():
    text = "[" + "'x', " * 5000 + "NaN]"
    reading = read_json(text)
    assert len(reading.fixes) < 200
    assert reading.risk is Risk.RISKY


def test_huge_numbers_neither_fail_nor_take_long():
    reading = read_json('{"n": ' + "9" * 100_000 + "}")
    assert reading.complete
    assert reading.risk is Risk.RISKY


def test_valid_json_is_left_alone():
    text = '{"a": 1, "a": [1e5, -0, "\\ud83d", "😀", null, true], "b": {"c": "x\\u0041\\n"}}'
    reading = read_json(text)
    assert json.dumps(reading.value) == json.dumps(json.loads(text))
    assert reading.fixes == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2,], "b": {"c": "d",},}',
        '{"a": "x", // why\n "b": 2}',
        "{'a': 'b', 'c': [True, None]}",
        '{a: "b", c: 1}',
        '{"a": "b" "c": 1}',
        '{"a": "line\nbreak"}',
        '{“a”: "b"}',
    ],
)
def test_json_repair_reads_plain_damage_the_same(text):
    assert read_json(text).value == json_repair.loads(text)
