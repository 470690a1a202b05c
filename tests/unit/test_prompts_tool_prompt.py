"""Tools described in a prompt."""

import re
from typing import Literal

from pydantic import BaseModel, Field

from forge.core.workflow import ToolSpec
from forge.prompts.tool_prompt import build_tool_prompt


class Place(BaseModel):
    lat: float = Field(description="Latitude")


class Params(BaseModel):
    city: str = Field(description="City name")
    days: int | None = None
    unit: Literal["c", "f"] = "c"
    place: Place | None = None
    tags: list[str] = []
    either: int | str = 0


PROMPT = build_tool_prompt([ToolSpec(name="get_weather", description="Look at the sky", parameters=Params)])


def line_of(name: str) -> str:
    return next(line.strip() for line in PROMPT.splitlines() if line.strip().startswith(f"- {name} "))


def test_each_parameter_has_its_type_and_need():
    """Optional and nested parameters have a type too."""
    assert line_of("city") == "- city (string) (required): City name"
    assert line_of("days") == "- days (integer) (optional)"
    assert line_of("place") == "- place (object) (optional)"
    assert line_of("lat") == "- lat (number) (required): Latitude"
    assert line_of("tags") == "- tags (array of string) (optional)"
    assert line_of("either") == "- either (integer or string) (optional)"


def test_names_descriptions_allowed_values_and_keys():
    assert re.search(r"^## get_weather\nLook at the sky$", PROMPT, re.MULTILINE)
    assert "c, f" in PROMPT
    assert '"tool"' in PROMPT
    assert '{"tool": "get_weather", "args": {"city": "<city>"' in PROMPT


def test_no_tools_means_no_example():
    assert "For example" not in build_tool_prompt([])


def test_odd_schemas_and_recursion():
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/Node"}, "b": {"$ref": "#/nowhere"}, "c": {"type": ["string", "null"]},
            "d": {"type": "null"}, "e": {"enum": [1, "x"]}, "f": True, "g": {"oneOf": [{"type": "integer"}, {"$ref": "#"}]},
        },
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "required": "all",
    }  # fmt: skip
    prompt = build_tool_prompt([ToolSpec.from_json_schema("t", "", schema)])
    assert "- a (object) (optional)" in prompt
    assert "- c (string) (optional)" in prompt
    assert "- e (integer or string) (optional)" in prompt
    assert "- b (any) (optional)" in prompt
