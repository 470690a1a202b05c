"""The respond tool."""

from forge.engine.respond import RESPOND_TOOL
from forge.tools import RESPOND_TOOL_NAME, respond_spec, respond_tool


def test_it_returns_its_message_unchanged():
    assert (respond_tool().name, respond_tool().callable(message="")) == (RESPOND_TOOL_NAME, "")
    assert respond_tool().callable(message="hi") == "hi"


def test_its_schema_is_one_required_string():
    schema = respond_spec().get_json_schema()
    assert schema["required"] == ["message"]
    assert schema["properties"]["message"]["type"] == "string"
    assert "message" in respond_spec().description


def test_the_proxy_offers_the_same_tool():
    assert (RESPOND_TOOL.name, RESPOND_TOOL.description) == (respond_spec().name, respond_spec().description)
    assert RESPOND_TOOL.parameters == respond_spec().get_json_schema()
