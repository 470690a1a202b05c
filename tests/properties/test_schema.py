"""Whatever schema and whatever arguments come, there is an answer, and it is the same the second time."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from forge.core.request import Tool
from forge.schema.arguments import read_arguments
from forge.schema.coerce import coerce
from forge.schema.explain import MAX_LENGTH, explain
from forge.schema.lower import call_schema
from forge.schema.names import closest_names, resolve_name
from forge.schema.understood import understand
from forge.schema.validate import compile_schema

words = st.sampled_from(["a", "b", "city", "n", "arguments", "input", ""]) | st.text(max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
odd_scalars = scalars | st.sampled_from(["12", "true", "null", "[1]", '{"a": 1}', "A", 2.0, 10**400])
values = st.recursive(
    odd_scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
KEYWORDS = [
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "$defs",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "nullable",
    "not",
    "if",
    "then",
    "prefixItems",
    "patternProperties",
    "default",
    "exclusiveMinimum",
    "multipleOf",
    "uniqueItems",
    "dependentRequired",
    "propertyNames",
    "contains",
    "unevaluatedProperties",
    "$id",
]
types = st.sampled_from(
    ["object", "array", "string", "number", "integer", "boolean", "null", "str", "float", "any"]
)


def _schemas(inner):
    named = st.dictionaries(words, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, max_size=3),
            "properties": named,
            "required": st.lists(words, max_size=2) | st.booleans(),
            "items": inner | st.lists(inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "anyOf": st.lists(inner, max_size=3),
            "oneOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=2),
            "enum": st.lists(odd_scalars, max_size=3),
            "const": odd_scalars,
            "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#/none", "http://127.0.0.1:9/x"]),
            "$defs": named,
            "pattern": st.sampled_from(["^a+$", "(", "(?=a)b", "^\\d{2}$", "\\p{L}"]) | st.text(max_size=6),
            "format": st.sampled_from(["date", "date-time", "email", "uri", "made-up"]),
            "minimum": odd_scalars,
            "maxLength": st.integers(-1, 5),
            "minItems": st.integers(0, 50),
            "nullable": st.booleans(),
            "multipleOf": st.sampled_from([0, 1, 5, 0.1, -1]),
        },
    )


schemas = st.recursive(st.just({}) | st.booleans() | values, _schemas, max_leaves=10)
object_schemas = _schemas(schemas)
few = settings(max_examples=40)  # whole schemas take long to draw


@few
@given(object_schemas | st.dictionaries(st.sampled_from(KEYWORDS), values), values | st.text(), st.booleans())
def test_any_arguments_of_any_tool_are_answered(schema, raw, text_values):
    tool = Tool(name="tool", parameters=schema if isinstance(schema, dict) else {})
    checked = read_arguments(tool, raw, text_values=text_values)
    assert checked.is_object == isinstance(checked.value, dict)
    assert checked.complete or checked.problems
    assert len(explain(tool, checked.problems)) <= MAX_LENGTH
    if checked.is_object:
        again = read_arguments(tool, checked.value, text_values=False)
        assert again.is_object


@few
@given(object_schemas)
def test_what_is_understood_is_understood_the_same_again(schema):
    once = understand(schema)
    assert repr(understand(once.schema).schema) == repr(once.schema)


@few
@given(object_schemas, values)
def test_coercion_is_idempotent_and_leaves_its_input_alone(schema, value):
    understood = understand(schema).schema
    before = repr(value)
    once, _ = coerce(value, understood)
    assert repr(value) == before
    twice, fixes = coerce(once, understood)
    assert repr(twice) == repr(once), fixes


@few
@given(object_schemas, values)
def test_a_valid_value_stays_valid(schema, value):
    compiled = compile_schema(schema)
    if compiled.problems(value) == ():
        coerced, _ = coerce(value, compiled.schema)
        assert compiled.problems(coerced) == ()


@settings(max_examples=20)  # a list of schemas that refer to themselves takes longest to draw
@given(st.lists(object_schemas, max_size=2))
def test_lowered_schemas_are_small_json_without_references(schema_list):
    tools = [Tool(name=f"t{index}", parameters=schema) for index, schema in enumerate(schema_list)]
    lowered = call_schema(tools)
    text = json.dumps(lowered.schema, default=repr)
    assert '"$ref": "#' not in text
    assert len(text) < 2_000_000


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=6))
def test_names_are_found_only_among_the_offered(written, names):
    assert resolve_name(written, names) in {None, *names}
    assert set(closest_names(written, names)) <= set(names)
    for name in names:
        assert resolve_name(name, names) == name
