from __future__ import annotations

import socket

import pytest

from forge.schema.validate import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "unit": {"enum": ["c", "f"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "host": {"type": "string", "format": "hostname"},
        "who": {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            ]
        },
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1},
    },
    "required": ["unit"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param({"unit": "c"}, [], id="valid"),
        pytest.param({}, [("/unit", "required")], id="missing"),
        pytest.param({"unit": "k"}, [("/unit", "enum")], id="enum"),
        pytest.param({"unit": "c", "x": 1}, [("", "additionalProperties")], id="surplus"),
        pytest.param({"unit": "c", "days": "x"}, [("/days", "type")], id="type"),
        pytest.param({"unit": "c", "days": 0}, [("/days", "minimum")], id="bound"),
        pytest.param({"unit": "c", "tags": []}, [("/tags", "minItems")], id="empty-list"),
        pytest.param({"unit": "c", "tags": ["ab", "abcd"]}, [("/tags/1", "maxLength")], id="item"),
        pytest.param({"unit": "c", "who": {"id": "x"}}, [("/who/id", "type")], id="best-branch"),
        pytest.param({"unit": "c", "who": {}}, [("/who/id", "required")], id="best-branch-missing"),
        pytest.param({"unit": "c", "who": 5}, [("/who", "type")], id="no-branch-of-that-type"),
        pytest.param({"unit": "c", "day": "2026-02-30"}, [("/day", "format")], id="date"),
        pytest.param({"unit": "c", "at": "2026-08-09T10:00:00"}, [], id="local-date-time"),
        pytest.param({"unit": "c", "at": "tomorrow"}, [("/at", "format")], id="no-date-time"),
        pytest.param({"unit": "c", "host": "not a host!"}, [], id="format-that-only-annotates"),
        pytest.param(
            {"days": 99, "x": 1},
            [("/unit", "required"), ("/days", "maximum"), ("", "additionalProperties")],
            id="several",
        ),
    ],
)
def test_each_breach_is_named_and_placed(value, found):
    problems = compile_schema(SCHEMA).problems(value)
    assert sorted((p.path, p.code) for p in problems) == sorted(found)
    assert all(p.message for p in problems)


def test_an_union_without_the_type_lists_all_that_is_allowed():
    (problem,) = compile_schema(SCHEMA).problems({"unit": "c", "who": 5})
    assert problem.expected == ["string", "object"]
    assert problem.got == "integer"


@pytest.mark.parametrize(
    ("schema", "bad", "good"),
    [
        pytest.param(
            {"properties": {"a": {"type": "string", "required": True}}}, {}, {"a": "x"}, id="draft-3-required"
        ),
        pytest.param({"properties": {"a": {"type": "int"}}}, {"a": "x"}, {"a": 1}, id="language-type"),
        pytest.param(
            {"properties": {"a": {"type": "banana", "minimum": 2}}}, {"a": 1}, {"a": "x"}, id="unknown-type"
        ),
        pytest.param(
            {"properties": {"a": {"type": "integer", "enum": []}}}, {"a": "x"}, {"a": 1}, id="empty-enum"
        ),
        pytest.param(
            {"properties": {"a": {"type": "integer"}, "b": "oops"}},
            {"a": "x"},
            {"a": 1, "b": []},
            id="property-no-schema",
        ),
        pytest.param(
            {"properties": {"a": {"type": "string", "pattern": "(", "maxLength": 1}}},
            {"a": "xx"},
            {"a": "x"},
            id="bad-pattern",
        ),
        pytest.param(
            {"properties": {"a": {"$ref": "#/nowhere", "type": "string"}}},
            {"a": 1},
            {"a": "x"},
            id="dangling-reference",
        ),
        pytest.param(
            {"properties": {"a": {"type": "integer", "minimum": 1, "exclusiveMinimum": True}}},
            {"a": 1},
            {"a": 2},
            id="draft-4-bound",
        ),
        pytest.param(
            {"properties": {"a": {"type": "string", "nullable": True}}},
            {"a": 1},
            {"a": None},
            id="openapi-nullable",
        ),
        pytest.param(
            {"properties": {"a": {"items": [{"type": "integer"}]}}},
            {"a": ["x"]},
            {"a": [1, "x"]},
            id="draft-7-tuple",
        ),
        pytest.param(
            {"properties": {"a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"type": "integer"}}},
            {"a": "x"},
            {"a": 1},
            id="definitions",
        ),
        pytest.param(
            {
                "$id": "http://example.com/x",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"type": "integer"}},
            },
            {"a": "x"},
            {"a": 1},
            id="foreign-id",
        ),
    ],
)
def test_a_malformed_schema_is_checked_for_what_is_understood(schema, bad, good):
    compiled = compile_schema(schema)
    assert compiled.problems(bad)
    assert compiled.problems(good) == ()


@pytest.mark.parametrize(
    "schema", [None, [], "x", 5, {"type": object}, {1: 2}, {"properties": {"\ud800": {"type": "string"}}}]
)
def test_what_is_no_schema_checks_nothing_and_says_so(schema):
    compiled = compile_schema(schema)
    assert compiled.problems({"a": 1}) == ()


def test_what_is_not_checked_is_reported():
    notes = compile_schema(
        {"properties": {"a": {"type": "banana"}, "b": {"pattern": "("}, "c": {"$ref": "http://x.test/"}}}
    ).notes
    assert len(notes) == 3
    assert compile_schema(SCHEMA).notes == ()


def test_no_reference_is_ever_fetched():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        compiled = compile_schema({"properties": {"a": {"$ref": f"http://127.0.0.1:{port}/schema"}}})
        assert compiled.problems({"a": 1}) == ()
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    "value", [{"a": "\ud83d"}, {"\ud83d": 1}, {"a": float("inf")}, {"a": 10**500}, {"a": {1, 2}}]
)
def test_values_beyond_the_validator_get_an_answer(value):
    assert isinstance(compile_schema({"properties": {"a": {"type": "string"}}}).problems(value), tuple)


def test_an_expensive_pattern_neither_hangs_nor_blames_the_call():
    compiled = compile_schema({"properties": {"a": {"type": "string", "pattern": "^(a|a?)+$(?!x)"}}})
    assert compiled.problems({"a": "a" * 60 + "b"}) == ()


def test_equal_schemas_are_compiled_once():
    assert compile_schema(dict(SCHEMA)) is compile_schema(SCHEMA)


def test_recursive_schemas_compile():
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert [p.path for p in compile_schema(schema).problems({"next": {"next": {"n": "x"}}})] == [
        "/next/next/n"
    ]
