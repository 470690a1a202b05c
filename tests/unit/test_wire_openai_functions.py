import json

import pytest

from forge.core.request import Call, Result, ToolChoice
from forge.errors import RequestError
from forge.wire.openai import decode_request

FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {}}}}
USER = {"role": "user", "content": "hi"}


def request(*messages, **fields):
    return decode_request(json.dumps({"messages": [USER, *messages], **fields}).encode())


def test_functions_are_tools():
    decoded = request(functions=[FUNCTION], function_call={"name": "f"}, temperature=1)

    [tool] = decoded.tools
    assert (tool.name, tool.description, tool.parameters) == ("f", "d", FUNCTION["parameters"])
    assert json.loads(bytes(tool.raw)) == {"type": "function", "function": FUNCTION}
    assert decoded.tool_choice == ToolChoice("named", "f")
    assert decoded.functions
    assert {name: bytes(raw) for name, raw in decoded.options.items()} == {
        "temperature": b"1",
        "parallel_tool_calls": b"false",
    }


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"functions": None}, id="null"),
        pytest.param({"functions": []}, id="empty"),
        pytest.param({"functions": [FUNCTION], "tools": []}, id="tools-too"),
        pytest.param({"function_call": "auto"}, id="only-a-choice"),
    ],
)
def test_what_offers_no_functions_stays_as_it_is(fields):
    decoded = request(**fields)

    assert not decoded.functions
    assert not decoded.tools
    kept = {name: json.loads(bytes(raw)) for name, raw in decoded.options.items()}
    assert kept == {name: value for name, value in fields.items() if name != "tools"}


def test_an_earlier_call_keeps_what_else_its_message_says():
    message = request(
        {
            "role": "assistant",
            "name": "bot",
            "content": "so",
            "function_call": {"name": "f", "arguments": '{"a": 1.0}'},
        }
    ).messages[1]

    assert message.parts[1:] == (Call(id="", name="f", arguments='{"a": 1.0}'),)
    assert json.loads(bytes(message.raw)) == {
        "role": "assistant",
        "name": "bot",
        "content": "so",
        "tool_calls": [{"id": "", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.0}'}}],
    }


@pytest.mark.parametrize("given", [None, {}, "f", {"name": ""}, {"name": 3}])
def test_what_is_no_earlier_call_stays_as_it_came(given):
    sent = {"role": "assistant", "content": "so", "function_call": given}

    assert json.loads(bytes(request(sent).messages[1].raw)) == sent


@pytest.mark.parametrize("role", ["function", r"\u0066unction"])
def test_a_functions_result_is_a_tools(role):
    body = f'{{"messages": [{{"role": "{role}", "name": "f", "content": "done"}}]}}'
    [message] = decode_request(body.encode()).messages

    assert (message.role, message.parts) == ("tool", (Result(call_id="", content="done", name="f"),))


def test_parameters_may_be_nested_so_deep():
    deep = '{"a": ' * 300 + "1" + "}" * 300
    body = f'{{"messages": [], "functions": [{{"name": "f", "parameters": {deep}}}]}}'
    with pytest.raises(RequestError, match=r"functions\[0\]") as caught:
        decode_request(body.encode())
    assert caught.value.param == "functions[0].parameters"
