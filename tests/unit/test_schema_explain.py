from __future__ import annotations

import json

import pytest

from forge.core.request import Tool
from forge.schema.arguments import read_arguments
from forge.schema.explain import MAX_LENGTH, example_call, explain

TOOL = Tool(
    name="book_room",
    parameters={
        "type": "object",
        "properties": {
            "room": {"enum": ["red", "blue"]},
            "start": {"type": "string", "format": "date-time"},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
            "size": {"type": "integer", "minimum": 2},
            "price": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        },
        "required": ["room", "start", "guests"],
        "additionalProperties": False,
        "$defs": {
            "Guest": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "vip": {"type": "boolean"}},
                "required": ["name", "vip"],
            }
        },
    },
)


def explained(raw):
    return explain(TOOL, read_arguments(TOOL, raw).problems)


def test_a_correction_names_tool_path_found_and_allowed():
    text = explained(
        {"room": "green", "start": "2026-01-01T10:00:00Z", "guests": [{"name": "x", "vip": "perhaps"}]}
    )
    for part in ("book_room", "room", "green", "red", "blue", "guests[0].vip", "perhaps", "boolean"):
        assert part in text


def test_several_problems_come_in_one_message():
    text = explained({"room": "green", "k": 1})
    assert all(name in text for name in ("room", "start", "guests", '"k"'))


def test_unknown_names_bring_the_right_ones():
    assert '"size"' in explained({"room": "red", "start": "2026-01-01T10:00:00Z", "guests": [], "sized": 1})


@pytest.mark.parametrize("raw", ['{"room": "re', "hello", 5, [1]])
def test_what_is_no_object_is_explained(raw):
    assert "book_room" in explained(raw)


def test_the_shape_shown_is_a_valid_call():
    example = example_call(TOOL)
    assert example["name"] == "book_room"
    assert read_arguments(TOOL, example["arguments"]).valid


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="nothing-known"),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "object",
                        "properties": {"b": {"type": "array", "items": {"type": "number"}}},
                        "required": ["b"],
                    }
                },
                "required": ["a"],
            },
            id="nested",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "a": {"const": 3},
                    "b": {"type": "string", "format": "uuid"},
                    "c": {"type": "integer", "maximum": 0},
                },
                "required": ["a", "b", "c"],
            },
            id="scalars",
        ),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, id="endless"),
        pytest.param({"anyOf": [{"$ref": "#"}]}, id="union-of-itself"),
    ],
)
def test_any_schema_has_an_example(schema):
    arguments = example_call(Tool(name="t", parameters=schema))["arguments"]
    json.dumps(arguments)
    if "endless" not in repr(schema) and "$ref" not in repr(schema):
        assert read_arguments(Tool(name="t", parameters=schema), arguments).valid


def test_a_correction_is_bounded():
    properties = {
        f"parameter_{n}": {
            "type": "object",
            "properties": {"x" * 50: {"enum": ["y" * 90] * 9}},
            "required": ["x" * 50],
        }
        for n in range(300)
    }
    tool = Tool(
        name="n" * 500,
        parameters={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )
    text = explain(tool, read_arguments(tool, {"z" * 5000: "v" * 5000}).problems)
    assert 0 < len(text) <= MAX_LENGTH


def test_the_same_problems_give_the_same_words():
    assert explained({"k": 1}) == explained({"k": 1})
