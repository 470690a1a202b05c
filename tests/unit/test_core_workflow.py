"""Tools and workflows."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from forge.core.workflow import ToolDef, ToolSpec, Workflow
from forge.tools.decorator import tool


class Empty(BaseModel):
    pass


def make_tool(name: str, **options: Any) -> ToolDef:
    spec = ToolSpec(name=name, description="", parameters=Empty)
    return ToolDef(spec=spec, callable=lambda: name, **options)


def make_workflow(**changes: Any) -> Workflow:
    fields: dict[str, Any] = {
        "name": "w",
        "description": "",
        "tools": {"a": make_tool("a"), "end": make_tool("end")},
        "required_steps": ["a"],
        "terminal_tool": "end",
        "system_prompt_template": "",
    }
    return Workflow(**(fields | changes))


def test_terminal_tools_is_a_set_of_one_or_many():
    assert make_workflow().terminal_tools == frozenset({"end"})
    assert make_workflow(terminal_tool=["end"]).terminal_tools == frozenset({"end"})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({"tools": {"a": make_tool("b"), "end": make_tool("end")}}, "does not match", id="key"),
        pytest.param({"required_steps": ["x"]}, "Required step 'x'", id="required"),
        pytest.param({"terminal_tool": ["end", "x"]}, "Terminal tool 'x'", id="terminal"),
        pytest.param({"required_steps": ["end"]}, "cannot also be a required step", id="both"),
        pytest.param(
            {"tools": {"a": make_tool("a", prerequisites=["x"]), "end": make_tool("end")}},
            "Prerequisite 'x'",
            id="prerequisite",
        ),
        pytest.param(
            {
                "tools": {
                    "a": make_tool("a", prerequisites=[{"tool": "y", "match_arg": "k"}]),
                    "end": make_tool("end"),
                }
            },
            "Prerequisite 'y'",
            id="matched-prerequisite",
        ),
    ],
)
def test_names_that_do_not_fit_together_are_refused(changes, text):
    with pytest.raises(ValueError, match=text):
        make_workflow(**changes)


@pytest.mark.parametrize(
    ("template", "variables", "expected"),
    [
        pytest.param("Hi {name}", {"name": "Ada"}, "Hi Ada", id="plain"),
        pytest.param('Answer {"ok": true}', {}, 'Answer {"ok": true}', id="json"),
        pytest.param(
            '{"city": "{city}", "n": {}}',
            {"city": "Rome"},
            '{"city": "Rome", "n": {}}',
            id="json-and-variable",
        ),
        pytest.param("{{literal}}", {}, "{literal}", id="doubled"),
        pytest.param("lonely { brace", {}, "lonely { brace", id="open"),
    ],
)
def test_system_prompt_keeps_braces_that_are_no_placeholders(template, variables, expected):
    assert make_workflow(system_prompt_template=template).build_system_prompt(**variables) == expected


def test_a_placeholder_without_its_variable_is_an_error():
    with pytest.raises(KeyError, match="city"):
        make_workflow(system_prompt_template="In {city}: {}").build_system_prompt()


def test_get_callable():
    workflow = make_workflow()
    assert workflow.get_callable("a")() == "a"
    with pytest.raises(KeyError):
        workflow.get_callable("x")
    assert [spec.name for spec in workflow.get_tool_specs()] == ["a", "end"]


def test_from_tools_takes_names_from_the_tools():
    workflow = Workflow.from_tools([make_tool("a"), make_tool("end")], terminal_tool="end")
    assert list(workflow.tools) == ["a", "end"]


# -- schemas ------------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "City", "minLength": 2},
        "units": {"enum": ["c", "f"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^x"}},
        "depth": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def test_a_raw_schema_is_kept_whole():
    spec = ToolSpec.from_json_schema("get_weather", "Weather", SCHEMA)
    assert spec.get_json_schema() == SCHEMA
    spec.get_json_schema()["properties"].clear()
    assert spec.get_json_schema() == SCHEMA


def test_the_model_mirrors_the_schema():
    model = ToolSpec.from_json_schema("get_weather", "Weather", SCHEMA).parameters
    assert model.__name__ == "GetWeatherParams"
    fields = model.model_fields
    assert fields["city"].annotation is str
    assert fields["city"].is_required()
    assert fields["city"].description == "City"
    assert fields["units"].annotation == Literal["c", "f"] | None
    assert fields["tags"].annotation == list[str] | None
    assert fields["depth"].annotation is Any
    assert fields["where"].default is None
    assert model(city="Oslo", where={"lat": 1}).where.lat == 1.0


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="empty"),
        pytest.param({"properties": "nonsense", "required": 3}, id="nonsense"),
        pytest.param({"properties": {"x": {"type": ["string", "null"]}}}, id="type-list"),
        pytest.param({"properties": {"x": {"enum": []}}}, id="empty-enum"),
        pytest.param(
            {"properties": {"model_config": {"type": "string"}}, "required": ["model_config"]}, id="config"
        ),
        pytest.param(
            {"properties": {"_x": {"type": "string"}, "a-b": {}, "class": {}, "json": {}}}, id="odd-names"
        ),
        pytest.param({"properties": {"x": {"$ref": "#/$defs/X"}, "y": {"const": 1}}}, id="references"),
        pytest.param(
            {"properties": {"x": {"type": "object", "properties": {"copy": True}}}}, id="boolean-schema"
        ),
        pytest.param({"properties": {"x": {"enum": [{"a": 1}]}, "y": {"type": 7}}}, id="odd-enum"),
    ],
)
def test_any_schema_makes_a_spec(schema):
    """No schema that a server sends may keep its other tools from being used."""
    spec = ToolSpec.from_json_schema("t", "", schema)
    assert spec.get_json_schema() == schema
    assert issubclass(spec.parameters, BaseModel)


def test_a_model_gives_its_schema():
    class Params(BaseModel):
        city: str = Field(description="City")

    spec = ToolSpec(name="t", description="d", parameters=Params)
    assert spec.get_json_schema() == Params.model_json_schema()
    assert spec.bind({"city": "x", "extra": 1}) == {"city": "x", "extra": 1}


def test_specs_are_compared_by_value():
    first, second = (ToolSpec(name="t", description="d", parameters=Empty) for _ in range(2))
    first.get_json_schema()["extra"] = 1
    assert first == second
    assert "extra" not in second.get_json_schema()


# -- functions ----------------------------------------------------------------------------------------------


class Unit(Enum):
    C = "c"
    F = "f"


@dataclass
class Place:
    lat: float
    lon: float


@tool
def forecast(
    place: Place,
    when: datetime,
    unit: Unit = Unit.C,
    days: Annotated[int, Field(ge=1, description="Days")] = 1,
) -> str:
    """Forecast the weather.

    More about it.

    Args:
        place: Where, as
            coordinates.
        when (datetime): Start.
        days: Overridden by the annotation.

    Returns:
        A sentence.
    """
    return f"{place.lat} {when.year} {unit.name} {days}"


def test_a_function_becomes_a_tool():
    assert forecast.name == "forecast"
    assert forecast.spec.description == "Forecast the weather.\n\nMore about it."
    schema = forecast.spec.get_json_schema()
    assert schema["required"] == ["place", "when"]
    assert schema["properties"]["when"]["description"] == "Start."
    assert schema["properties"]["days"]["description"] == "Days"
    assert schema["properties"]["days"]["minimum"] == 1
    assert "coordinates." in str(schema["properties"]["place"])


def test_arguments_arrive_as_the_annotated_types():
    bound = forecast.spec.bind({"place": {"lat": 1, "lon": 2}, "when": "2026-01-02T03:04:05", "unit": "f"})
    assert bound == {"place": Place(1.0, 2.0), "when": datetime(2026, 1, 2, 3, 4, 5), "unit": Unit.F}  # noqa: DTZ001
    assert forecast(**bound) == "1.0 2026 F 1"


def test_constraints_of_the_annotations_hold():
    with pytest.raises(ValidationError):
        forecast.spec.bind({"place": {"lat": 1, "lon": 2}, "when": "2026-01-02", "days": 0})


def test_options_of_the_decorator():
    @tool(name="look_up", description="Look it up", prerequisites=["auth"], timeout=2, parallel=True)
    async def inner(key: str, **more: Any) -> str:
        return key + more.get("x", "")

    assert (inner.name, inner.spec.description, inner.timeout, inner.parallel) == (
        "look_up",
        "Look it up",
        2,
        True,
    )
    assert inner.prerequisites == ["auth"]
    assert inner.spec.bind({"key": "k", "x": "y"}) == {"key": "k", "x": "y"}
    assert asyncio.run(inner("k", x="y")) == "ky"


@pytest.mark.parametrize(
    "docstring",
    [
        pytest.param("Do it.\n\n:param key: The key,\n    really.\n:returns: x", id="rest"),
        pytest.param(
            "Do it.\n\nParameters\n----------\nkey : str\n    The key,\n    really.\n\nReturns\n-------\nstr",
            id="numpy",
        ),
        pytest.param(
            "Do it.\n\nArgs:\n    key (str, optional): The key,\n        really.\n\nRaises:\n    KeyError: x",
            id="google",
        ),
    ],
)
def test_docstring_styles(docstring):
    def function(key: str) -> str:
        return key

    function.__doc__ = docstring
    spec = ToolSpec.from_callable(function)
    assert spec.description == "Do it."
    assert spec.get_json_schema()["properties"]["key"]["description"] == "The key, really."


def test_functions_that_cannot_be_tools():
    def positional(x: int, /) -> int:
        return x

    def odd(x: asyncio.Lock) -> None: ...

    with pytest.raises(TypeError, match="positional-only"):
        ToolSpec.from_callable(positional)
    with pytest.raises(TypeError, match="no JSON Schema"):
        ToolSpec.from_callable(odd)
    with pytest.raises(ValueError, match="needs a name"):
        ToolSpec.from_callable(lambda x: x)


def test_parameter_names_that_pydantic_reserves():
    def function(_private: int, schema: str = "s", model_id: str = "m") -> str:
        return f"{_private}{schema}{model_id}"

    spec = ToolSpec.from_callable(function)
    assert set(spec.get_json_schema()["properties"]) == {"_private", "schema", "model_id"}
    assert spec.bind({"_private": "1", "model_id": "x"}) == {"_private": 1, "model_id": "x"}


def test_callable_objects_and_methods():
    class Search:
        """Search."""

        async def __call__(self, query: str) -> str:
            return query

        def other(self, n: int) -> int:
            return n

    assert ToolSpec.from_callable(Search()).get_json_schema()["properties"]["query"]["type"] == "string"
    assert ToolSpec.from_callable(Search().other).get_json_schema()["properties"]["n"]["type"] == "integer"
