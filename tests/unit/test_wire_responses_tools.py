import json

import pytest

from forge.wire.responses_tools import Label, custom_input, read_tools, wire_name

PARAMETERS = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"pattern": "x"}}}


def offer(*tools):
    return read_tools(json.dumps(tools).encode())


def test_a_function_keeps_its_schema():
    tool = {"type": "function", "name": "f", "description": "d", "parameters": PARAMETERS, "strict": True}
    (offered,) = offer(tool).tools
    assert (offered.name, offered.description, offered.parameters) == ("f", "d", PARAMETERS)
    raw = json.loads(bytes(offered.raw))
    assert raw == {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": PARAMETERS, "strict": True},
    }
    assert list(raw["function"]["parameters"]["properties"]) == ["z", "a"]


@pytest.mark.parametrize("parameters", [None, "odd", True])
def test_a_schema_that_says_nothing(parameters):
    (offered,) = offer({"type": "function", "name": "f", "parameters": parameters, "strict": None}).tools
    assert offered.parameters == {}
    assert "strict" not in json.loads(bytes(offered.raw))["function"]


def test_the_functions_of_a_namespace():
    inner = [{"type": "function", "name": "f"}, {"type": "custom", "name": "c"}, {"type": "mcp"}]
    found = offer({"type": "namespace", "name": "n", "tools": inner}, {"type": "function", "name": "f"})
    assert [tool.name for tool in found.tools] == ["n__f", "n__c", "f"]
    assert found.labels == {"n__f": Label("f", "n"), "n__c": Label("c", "n", custom=True)}
    assert found.left_out == ("tools of type 'mcp'",)


def test_what_is_said_about_a_namespace_goes_to_its_first_function():
    inner = [
        {"type": "mcp"},
        {"type": "function", "name": "f", "description": "Own."},
        {"type": "function", "name": "g"},
    ]
    found = offer({"type": "namespace", "name": "n", "description": "About.", "tools": inner})
    first, second = found.tools
    assert "About." in first.description
    assert first.description.endswith("Own.")
    assert second.description == ""


def test_hints_that_no_backend_has_a_word_for_are_named():
    tool = {"type": "function", "name": "f", "defer_loading": True, "async": False, "output_schema": None}
    assert offer(tool).left_out == ("'defer_loading' of tools",)


def test_a_custom_tool_is_a_function_of_one_text():
    form = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
    found = offer({"type": "custom", "name": "c", "description": "d", "format": form})
    (tool,) = found.tools
    assert tool.parameters["required"] == ["input"]
    assert tool.parameters["properties"]["input"]["type"] == "string"
    assert "start: /x/" in tool.description
    assert tool.description.startswith("d")
    assert found.labels == {"c": Label("c", custom=True)}


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        pytest.param("f", None, "f", id="alone"),
        pytest.param("f", "", "f", id="empty"),
        pytest.param("f", "n", "n__f", id="namespace"),
        pytest.param("f", "mcp__n__", "mcp__n__f", id="joined"),
    ],
)
def test_names(name, namespace, expected):
    assert wire_name(name, namespace) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param('{"input": "a\\nb"}', "a\nb", id="input"),
        pytest.param('{"input": 5}', '{"input": 5}', id="no-text"),
        pytest.param('{"patch": "a"}', '{"patch": "a"}', id="other-name"),
        pytest.param("cut {", "cut {", id="no-json"),
        pytest.param("[]", "[]", id="no-object"),
    ],
)
def test_the_input_of_a_custom_call(arguments, expected):
    assert custom_input(arguments) == expected
