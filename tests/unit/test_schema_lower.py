from __future__ import annotations

import json

import jsonschema_rs
import pytest

from forge.core.request import Tool
from forge.schema.explain import example_call
from forge.schema.lower import call_schema


def tool(properties, **more):
    return Tool(name="t", parameters={"type": "object", "properties": properties, **more})


def lowered(properties, **more):
    result = call_schema([tool(properties, **more)])
    return result.schema["properties"]["arguments"]["properties"], result.given_up


def walk(node):
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


RICH = tool(
    {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["c", "f"]},
        "when": {"type": "string", "format": "date"},
        "todos": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
        "maybe": {"type": ["number", "null"]},
        "shape": {
            "oneOf": [
                {"type": "object", "properties": {"r": {"type": "number"}}, "required": ["r"]},
                {"const": None},
            ]
        },
    },
    required=["city", "todos"],
    **{
        "$defs": {
            "Todo": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "sub": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
                },
                "required": ["content"],
            }
        }
    },
)


def test_one_tool_is_one_object_and_several_are_a_union():
    one = call_schema([RICH]).schema
    assert one["properties"]["name"] == {"const": "t"}
    assert (one["required"], one["additionalProperties"]) == (["name", "arguments"], False)
    two = call_schema([RICH, Tool(name="u")]).schema
    assert [branch["properties"]["name"]["const"] for branch in two["anyOf"]] == ["t", "u"]


def test_what_it_allows_the_tool_allows():
    schema = call_schema([RICH]).schema
    validator = jsonschema_rs.Draft202012Validator(schema)
    call = example_call(RICH)
    assert validator.is_valid(call)
    assert validator.is_valid(
        {"name": "t", "arguments": {"city": "Rome", "todos": [{"content": "x", "sub": [{"content": "y"}]}]}}
    )
    for bad in (
        {"name": "x", "arguments": {}},
        {"name": "t"},
        {"name": "t", "arguments": {**call["arguments"], "k": 1}},
        {"name": "t", "arguments": {"city": "R", "todos": []}},
    ):
        assert not validator.is_valid(bad)


def test_nothing_in_it_is_unbounded():
    for node in walk(call_schema([RICH]).schema):
        if isinstance(node, dict) and node.get("type") == "string":
            assert "maxLength" in node
        if isinstance(node, dict) and node.get("type") == "array":
            assert "maxItems" in node
        if isinstance(node, dict) and node.get("type") in ("integer", "number"):
            assert {"minimum", "exclusiveMinimum"} & node.keys()
            assert {"maximum", "exclusiveMaximum"} & node.keys()
        if isinstance(node, dict) and node.get("type") == "object":
            assert node["additionalProperties"] is False or "maxProperties" in node


def test_references_are_written_out():
    text = json.dumps(call_schema([RICH]).schema)
    assert "$ref" not in text
    assert "$defs" not in text


@pytest.mark.parametrize(
    "pattern", ["^[A-Z]{3}-\\d{4}$", "^(?:foo|ba[rz])+$", "^[^/]+\\.py$", "^a?b*c{2,5}$"]
)
def test_plain_patterns_stay(pattern):
    properties, given_up = lowered({"p": {"type": "string", "pattern": pattern}})
    assert properties["p"]["pattern"] == pattern
    assert given_up == ()


@pytest.mark.parametrize(
    "pattern",
    [
        "^(?=a)b$",
        "(a)\\1",
        "^\\p{L}+$",
        "ab+c",
        "^\\w+\\b$",
        "(",
        "^a{1,9999}$",
        "^a+?$",
        "^(?P<x>a)$",
        "^(?i)a$",
    ],
)
def test_patterns_that_a_compiler_may_not_know_are_given_up(pattern):
    properties, given_up = lowered({"p": {"type": "string", "pattern": pattern}})
    assert "pattern" not in properties["p"]
    assert given_up


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        pytest.param({"type": "array", "uniqueItems": True}, "uniqueItems", id="unique"),
        pytest.param({"type": "string", "format": "hostname"}, "format", id="format"),
        pytest.param({"type": "number", "maximum": 1e300}, "maximum", id="huge-bound"),
        pytest.param(
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            "patternProperties",
            id="pattern-names",
        ),
        pytest.param({"type": "string", "not": {"const": "x"}}, "not", id="not"),
        pytest.param({"if": {"const": 1}, "then": {"const": 1}}, "if", id="if"),
    ],
)
def test_what_is_given_up_is_said(schema, keyword):
    properties, given_up = lowered({"p": schema})
    assert any(keyword in note and note.startswith("t: /p") for note in given_up)
    assert keyword not in properties["p"] or keyword == "maximum"


def test_a_tool_without_parameters_takes_none():
    for parameters in ({}, {"type": "object"}, {"type": "object", "properties": {}}):
        arguments = call_schema([Tool(name="t", parameters=parameters)]).schema["properties"]["arguments"]
        assert (arguments["properties"], arguments["additionalProperties"]) == ({}, False)


def test_conjunctions_are_merged():
    properties, _ = lowered(
        {
            "p": {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"a": {"minimum": 3}, "b": {"type": "boolean"}}},
                ]
            }
        }
    )
    assert properties["p"]["properties"]["a"]["minimum"] == 3
    assert set(properties["p"]["properties"]) == {"a", "b"}


def test_a_fixed_tuple_has_its_own_length():
    properties, _ = lowered(
        {"p": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False}}
    )
    assert (properties["p"]["maxItems"], "items" in properties["p"]) == (2, False)


def test_no_boolean_stands_where_a_schema_is_wanted():
    properties, _ = lowered({"a": True, "b": {"type": "array", "items": True}, "c": False})
    assert all(isinstance(node, dict) for node in properties.values())
    assert isinstance(properties["b"]["items"], dict)
    assert "c" not in properties


@pytest.mark.parametrize("count", [2, 30])
def test_recursion_ends_soon(count):
    properties = {f"p{n}": {"type": "array", "items": {"$ref": "#"}} for n in range(count)}
    text = json.dumps(call_schema([tool(properties)]).schema)
    assert len(text) < 1_000_000
