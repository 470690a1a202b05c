from __future__ import annotations

import time

import pytest

from forge.schema.coerce import coerce
from forge.schema.understood import understand

DEFS = {
    "Todo": {
        "type": "object",
        "properties": {
            "done": {"type": "boolean"},
            "n": {"type": "integer"},
            "sub": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
        },
    }
}
NULLABLE_INTEGER = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
TAGGED = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
            "required": ["kind", "x"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "b"}, "x": {"type": "string"}},
            "required": ["kind", "x"],
        },
    ]
}
CASES = [
    pytest.param({"type": "integer"}, "12", 12, id="numeric-text"),
    pytest.param({"type": "integer"}, " -3 ", -3, id="space-around-number"),
    pytest.param({"type": "integer"}, "3.0", 3, id="integral-text"),
    pytest.param({"type": "integer"}, 2.0, 2, id="integral-number"),
    pytest.param({"type": "number"}, "2.5", 2.5, id="decimal-text"),
    pytest.param({"type": "number"}, "1e3", 1000.0, id="exponent"),
    pytest.param({"type": "boolean"}, "true", True, id="true"),
    pytest.param({"type": "boolean"}, "False", False, id="python-false"),
    pytest.param({"type": "string"}, 6020, "6020", id="number-to-text"),
    pytest.param({"type": "string"}, 1.5, "1.5", id="decimal-to-text"),
    pytest.param({"type": "array", "items": {"type": "string"}}, "a@b", ["a@b"], id="one-text-to-list"),
    pytest.param({"type": "array", "items": {"type": "integer"}}, "5", [5], id="one-number-to-list"),
    pytest.param({"type": "array", "items": {"type": "integer"}}, '["1", 2]', [1, 2], id="json-text-to-list"),
    pytest.param(
        {"type": "array", "items": {"type": "string"}}, "['a', 'b']", ["a", "b"], id="python-text-to-list"
    ),
    pytest.param(
        {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
        {"done": "true"},
        [{"done": True}],
        id="one-object-to-list",
    ),
    pytest.param(
        {"type": "object", "properties": {"n": {"type": "integer"}}},
        '{"n": "1"}',
        {"n": 1},
        id="json-text-to-object",
    ),
    pytest.param(
        {"$ref": "#/$defs/Todo"},
        {"sub": [{"sub": [{"n": "7"}]}]},
        {"sub": [{"sub": [{"n": 7}]}]},
        id="recursive-reference",
    ),
    pytest.param({"enum": ["celsius", "fahrenheit"]}, "Celsius", "celsius", id="enum-case"),
    pytest.param({"type": "string", "enum": ["A", "b"]}, " a ", "A", id="enum-space"),
    pytest.param({"enum": [1, 2]}, "2", 2, id="enum-number"),
    pytest.param({"const": "json"}, "JSON", "json", id="const-case"),
    pytest.param(NULLABLE_INTEGER, "5", 5, id="nullable-number"),
    pytest.param(NULLABLE_INTEGER, "null", None, id="nullable-null"),
    pytest.param(NULLABLE_INTEGER, 2.0, 2, id="nullable-integral"),
    pytest.param({"type": ["integer", "null"]}, "None", None, id="type-list-null"),
    pytest.param({"type": "integer", "nullable": True}, "4", 4, id="openapi-nullable"),
    pytest.param(
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        '["1"]',
        [1],
        id="nullable-list",
    ),
    pytest.param(
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}},
                {"properties": {"b": {"type": "boolean"}}},
            ]
        },
        {"a": "1", "b": "true"},
        {"a": 1, "b": True},
        id="all-of",
    ),
    pytest.param(TAGGED, {"kind": "a", "x": "1"}, {"kind": "a", "x": 1}, id="tag-chooses-branch-a"),
    pytest.param(TAGGED, {"kind": "b", "x": 1}, {"kind": "b", "x": "1"}, id="tag-chooses-branch-b"),
    pytest.param(
        {"type": "object", "additionalProperties": {"type": "integer"}}, {"k": "1"}, {"k": 1}, id="map-values"
    ),
    pytest.param(
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        [1, "2"],
        ["1", 2],
        id="tuple",
    ),
    pytest.param({"type": "array", "items": [{"type": "integer"}]}, ["2"], [2], id="draft-7-tuple"),
]
KEPT = [
    pytest.param({"type": "string"}, "12", id="digits-in-text"),
    pytest.param({"type": "string"}, '{"a": 1}', id="json-in-text"),
    pytest.param({"type": "string"}, "true", id="true-in-text"),
    pytest.param({"type": "string"}, "null", id="null-in-text"),
    pytest.param({"type": ["string", "integer"]}, "12", id="text-or-integer"),
    pytest.param({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "12", id="integer-or-text"),
    pytest.param({"type": "string"}, True, id="boolean-for-text"),
    pytest.param({"type": "string"}, {"a": 1}, id="object-for-text"),
    pytest.param({"type": "integer"}, "six", id="word-for-number"),
    pytest.param({"type": "integer"}, 2.5, id="fraction-for-integer"),
    pytest.param({"type": "integer"}, "2.5", id="fraction-text-for-integer"),
    pytest.param({"type": "integer"}, True, id="boolean-for-integer"),
    pytest.param({"type": "boolean"}, 1, id="number-for-boolean"),
    pytest.param({"type": "boolean"}, "yes", id="yes-for-boolean"),
    pytest.param({"type": "number"}, "1e999", id="infinite"),
    pytest.param({"type": "array", "items": {"type": "integer"}}, "x", id="word-for-numbers"),
    pytest.param({"type": "array"}, None, id="null-for-list"),
    pytest.param({"enum": ["a", "A"]}, "Á", id="not-in-enum"),
    pytest.param({"enum": ["ab", "aB"]}, "AB", id="two-in-enum"),
    pytest.param({"type": "object"}, "[1", id="cut-json-for-object"),
    pytest.param({}, "12", id="no-schema"),
    pytest.param({"$ref": "#"}, "12", id="reference-to-itself"),
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "integer"}}}, {"b": "1"}, id="unknown-member"
    ),
]


def known(schema):
    return understand({**schema, "$defs": DEFS}).schema


@pytest.mark.parametrize(("schema", "value", "wanted"), CASES)
def test_a_value_takes_the_type_the_schema_clearly_wants(schema, value, wanted):
    got, fixes = coerce(value, known(schema))
    assert (got, type(got)) == (wanted, type(wanted))
    assert fixes


@pytest.mark.parametrize(("schema", "value"), KEPT)
def test_a_value_stays_where_there_is_doubt(schema, value):
    got, fixes = coerce(value, known(schema))
    assert (got, type(got), fixes) == (value, type(value), ())


@pytest.mark.parametrize(
    ("schema", "text", "wanted"),
    [
        pytest.param({"type": "string"}, "null", "null", id="text"),
        pytest.param({"type": ["string", "null"]}, "null", None, id="nullable-text"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, "None", None, id="optional-text"),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"type": "null"}]}, "x", "x", id="optional-text-with-text"
        ),
        pytest.param({"type": "boolean"}, "\ntrue\n", True, id="boolean-with-breaks"),
        pytest.param({"type": "object"}, "{'a': 1}", {"a": 1}, id="object"),
        pytest.param({"type": "string"}, " verbatim\n", " verbatim\n", id="text-is-verbatim"),
    ],
)
def test_text_without_types_is_typed_by_the_schema(schema, text, wanted):
    assert coerce(text, known(schema), text_values=True)[0] == wanted


def test_each_change_says_where():
    schema = known({"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}}})
    _, fixes = coerce({"a/b": ["1", 2, "3"]}, schema)
    assert [fix.path for fix in fixes] == ["/a~1b/0", "/a~1b/2"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("text", id="a value"),
        pytest.param({"a": {"b": ["text"] * 15}}, id="a tree"),
        pytest.param(["text"] * 1000, id="a long list"),
    ],
)
def test_unions_that_refer_to_themselves_twice_cost_no_more_than_others(value: object) -> None:
    """Each level has two unions, so looking into all of them doubles the work with each."""
    itself = [{"$ref": "#"}, {"$ref": "#/additionalProperties"}]
    schema = {"anyOf": itself, "oneOf": itself, "additionalProperties": {"anyOf": itself, "oneOf": itself}}

    begin = time.process_time()
    coerced, _ = coerce(value, {**schema, "items": {"$ref": "#"}})

    assert coerced == value
    assert time.process_time() - begin < 30  # it would never end
