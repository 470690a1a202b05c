from __future__ import annotations

import json
import time

import pytest

from forge.core.ledger import Risk
from forge.core.request import Tool
from forge.schema.arguments import fit_as_written, read_arguments
from forge.schema.validate import compile_schema

WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "note": {"type": "string"},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
NO_PARAMETERS = Tool(name="now", parameters={"type": "object", "properties": {}})
WRAPPED = Tool(
    name="run",
    parameters={
        "type": "object",
        "properties": {"arguments": {"type": "object"}, "input": {"type": "string"}},
    },
)
UNKNOWN = Tool(name="anything")
PARIS = {"city": "Paris"}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param('{"city": "Paris"}', PARIS, id="json"),
        pytest.param(PARIS, PARIS, id="decoded"),
        pytest.param(json.dumps('{"city": "Paris"}'), PARIS, id="encoded-twice"),
        pytest.param([PARIS], PARIS, id="list-of-one"),
        pytest.param('[{"city": "Paris"}]', PARIS, id="list-of-one-as-text"),
        pytest.param({"arguments": PARIS}, PARIS, id="wrapped-in-arguments"),
        pytest.param({"input": PARIS}, PARIS, id="wrapped-in-input"),
        pytest.param({"parameters": PARIS}, PARIS, id="wrapped-in-parameters"),
        pytest.param({"arguments": {"arguments": PARIS}}, PARIS, id="wrapped-twice"),
        pytest.param({"arguments": '{"city": "Paris"}'}, PARIS, id="wrapped-as-text"),
        pytest.param({"name": "get_weather", "arguments": PARIS}, PARIS, id="whole-call"),
        pytest.param('{"city": "Paris"}{"city": "Paris"}', PARIS, id="printed-twice"),
        pytest.param('{"city": "Paris"}}', PARIS, id="brace-too-many"),
        pytest.param('```json\n{"city": "Paris"}\n```', PARIS, id="fenced"),
        pytest.param("{'city': 'Paris',}", PARIS, id="repaired"),
        pytest.param(
            '{"city": 75001, "days": "3", "tags": "a"}',
            {"city": "75001", "days": 3, "tags": ["a"]},
            id="coerced",
        ),
        pytest.param(
            '{"city": 00420, "note": +49123}',
            {"city": "00420", "note": "+49123"},
            id="numbers-as-they-were-written",
        ),
        pytest.param(
            '{"city": "Paris", "note": "{\\"a\\": 1}"}',
            {"city": "Paris", "note": '{"a": 1}'},
            id="json-in-text-stays",
        ),
        pytest.param('{"city": "x "y" z"}', {"city": 'x "y" z'}, id="risky-but-valid"),
    ],
)
def test_arguments_are_one_object_that_fits(raw, value):
    checked = read_arguments(WEATHER, raw)
    assert checked.value == value
    assert (checked.valid, checked.trusted, checked.problems) == (True, True, ())


@pytest.mark.parametrize("raw", [None, "", "  ", "null", [], "[]", {}, "{}", '""'])
def test_nothing_is_an_empty_object(raw):
    checked = read_arguments(NO_PARAMETERS, raw)
    assert (checked.value, checked.valid) == ({}, True)


@pytest.mark.parametrize(
    ("tool", "raw"),
    [
        pytest.param(WRAPPED, {"arguments": {"a": 1}}, id="own-arguments"),
        pytest.param(WRAPPED, {"input": "x"}, id="own-input"),
        pytest.param(UNKNOWN, {"parameters": {"a": 1}}, id="unknown-tool-parameters"),
        pytest.param(WEATHER, {"arguments": {"a": 1}, "x": 2}, id="not-alone"),
        pytest.param(UNKNOWN, {"name": "other", "arguments": {}}, id="another-call"),
    ],
)
def test_a_parameter_is_no_wrapper(tool, raw):
    assert read_arguments(tool, raw).value == raw


@pytest.mark.parametrize(
    ("raw", "problems"),
    [
        pytest.param('{"days": 1}', [("/city", "required")], id="missing"),
        pytest.param('{"city": "x", "k": 1}', [("", "additionalProperties")], id="surplus"),
        pytest.param('{"city": "x", "days": "six"}', [("/days", "type")], id="not-convertible"),
        pytest.param('{"city": "x", "days": "0"}', [("/days", "minimum")], id="converted-then-out-of-range"),
    ],
)
def test_a_breach_leaves_a_readable_call(raw, problems):
    checked = read_arguments(WEATHER, raw)
    assert [(p.path, p.code) for p in checked.problems] == problems
    assert (checked.is_object, checked.complete, checked.trusted, checked.valid) == (True, True, True, False)


@pytest.mark.parametrize(
    "raw", ['{"city": "Par', '{"city": "Paris"', '{"city": "Paris", "days": 1', '{"city":', "{"]
)
def test_cut_off_arguments_are_never_complete(raw):
    checked = read_arguments(WEATHER, raw)
    assert (checked.complete, checked.trusted, checked.value) == (False, False, raw)
    assert checked.problems


@pytest.mark.parametrize("raw", ["hello", 5, True, ["a"], [{}, {}], "12", "[1, 2]", '"text"'])
def test_what_is_no_object_is_said_to_be_none(raw):
    checked = read_arguments(WEATHER, raw)
    assert not checked.is_object
    assert not checked.valid
    assert checked.problems


def test_a_risky_reading_that_breaks_the_schema_is_not_trusted():
    checked = read_arguments(WEATHER, '{"city": "x "y" z", "days": "six"}')
    assert any(fix.risk is Risk.RISKY for fix in checked.fixes)
    assert (checked.complete, checked.is_object, checked.trusted) == (True, True, False)


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        pytest.param(
            {"anyOf": [{"enum": ["A"]}, {"type": "string"}]}, "a", "a", id="another-branch-takes-it"
        ),
        pytest.param({"type": "integer"}, 2.0, 2, id="integer"),
        pytest.param({"type": "array", "items": {"type": "integer"}}, [[], 1, 2.0], [[], 1, 2], id="inner"),
    ],
)
def test_what_fits_is_only_re_typed_where_an_integer_is_wanted(schema, value, wanted):
    tool = Tool(name="t", parameters={"type": "object", "properties": {"a": schema}})
    read = read_arguments(tool, {"a": value}).value["a"]
    assert repr(read) == repr(wanted)


def test_text_values_take_the_types_of_the_schema():
    checked = read_arguments(WEATHER, {"city": "123", "days": "3", "tags": '["a"]'}, text_values=True)
    assert checked.value == {"city": "123", "days": 3, "tags": ["a"]}


def test_text_values_are_no_wrapper():
    checked = read_arguments(Tool(name="t"), {"arguments": '{"a": 1}'}, text_values=True)
    assert checked.value == {"arguments": '{"a": 1}'}


SELF = {"$ref": "#"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"anyOf": [SELF] * 24}, id="union-of-itself"),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"type": "integer", "anyOf": [{"$ref": "#/properties/a"}] * 20}},
            },
            id="typed-union-of-itself",
        ),
        pytest.param({"allOf": [SELF, SELF]}, id="all-of-itself"),
        pytest.param(
            {
                "type": "object",
                "required": list("abcdefghij"),
                "properties": dict.fromkeys("abcdefghij", SELF),
            },
            id="requires-itself",
        ),
    ],
)
def test_schemas_that_refer_to_themselves_cost_little(schema):
    started = time.process_time()
    read_arguments(Tool(name="t", parameters=schema), {"a": {"a": {"a": "x"}}})
    assert time.process_time() - started < 3


@pytest.mark.parametrize("schema", [{"const": []}, {"type": "array"}, {"type": "string"}, {"enum": ["a"]}])
def test_a_schema_that_wants_no_object_does_not_take_the_object_away(schema):
    checked = read_arguments(Tool(name="t", parameters=schema), "{}")
    assert (checked.value, checked.is_object) == ({}, True)
    assert checked.problems


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(r'{"old_str": "b\\n"}', id="as-declared"),
        pytest.param(r'{"old\\_str": "b"}', id="escaped-as-markdown-does"),
        pytest.param(r'{"old\u005c_str": "b"}', id="whose-backslash-is-escaped-by-number"),
    ],
)
def test_what_fits_at_a_glance_is_what_reading_leaves_alone(text):
    tool = Tool(name="edit", parameters={"type": "object", "properties": {"old_str": {"type": "string"}}})
    checked = read_arguments(tool, text)
    left_alone = checked.valid and not checked.fixes
    assert fit_as_written(text, compile_schema(tool.parameters)) is left_alone
