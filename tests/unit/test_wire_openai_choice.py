"""``tool_choice`` of chat completions; what it is in each form is tested with whole requests."""

import json

import pytest

from forge.core.request import Tool, ToolChoice
from forge.errors import RequestError
from forge.wire.openai_choice import read_choice, write_choice

F, G, SHELL = Tool(name="f"), Tool(name="g"), Tool(name="shell", kind="custom")
TOOLS = (F, G, SHELL)


def allowed(mode, *tools):
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


def function(name):
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("choice", "mode", "tools"),
    [
        pytest.param(allowed("auto", function("g")), "auto", (G,), id="one"),
        pytest.param(
            allowed("required", function("g"), {"type": "function", "name": "f"}),
            "required",
            (F, G),
            id="order",
        ),
        pytest.param(
            allowed("auto", {"type": "custom", "custom": {"name": "shell"}}), "auto", (SHELL,), id="custom"
        ),
        pytest.param(allowed("auto", function("h"), 3, {}), "auto", (), id="none-of-them"),
    ],
)
def test_only_allowed_tools_are_offered(choice, mode, tools):
    assert read_choice(json.dumps(choice).encode(), TOOLS) == (ToolChoice(mode), tools)


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        pytest.param(
            allowed("required", function("h")), "tool_choice.allowed_tools.tools", id="demands-nothing"
        ),
        pytest.param(allowed("never", function("f")), "tool_choice.allowed_tools.mode", id="mode"),
        pytest.param(
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}},
            "tool_choice.allowed_tools.tools",
            id="no-list",
        ),
    ],
)
def test_what_allows_nothing_is_refused(choice, param):
    with pytest.raises(RequestError) as error:
        read_choice(json.dumps(choice).encode(), TOOLS)
    assert error.value.param == param


@pytest.mark.parametrize(
    "choice",
    ["auto", "none", "required", function("f"), {"type": "custom", "custom": {"name": "shell"}}],
    ids=str,
)
def test_a_choice_goes_out_as_it_came(choice):
    read, tools = read_choice(json.dumps(choice).encode(), TOOLS)
    assert write_choice(read, tools) == choice
