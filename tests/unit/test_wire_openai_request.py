import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.core.request import Call, Opaque, Protocol, Reasoning, Result, Text, ToolChoice
from forge.errors import RequestError
from forge.wire.openai import decode_request

USER = {"role": "user", "content": "hi"}


def body(**fields):
    return json.dumps({"messages": [USER], **fields}).encode()


def message(**fields):
    return decode_request(json.dumps({"messages": [fields]}).encode()).messages[0]


def tool(**fields):
    return decode_request(body(tools=[fields])).tools[0]


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        pytest.param({"content": "hi"}, (Text("hi"),), id="text"),
        pytest.param({"content": ""}, (), id="empty"),
        pytest.param({"content": None}, (), id="null"),
        pytest.param({}, (), id="no content"),
        pytest.param(
            {"content": [{"type": "text", "text": "a"}, "b", {"type": "input_text", "text": "c"}]},
            (Text("a"), Text("b"), Text("c")),
            id="parts",
        ),
    ],
)
def test_content_of_every_legal_shape(fields, parts):
    assert message(role="user", **fields).parts == parts


def test_other_content_parts_pass_in_their_own_bytes():
    part = message(role="user", content=[{"type": "image_url", "image_url": {"url": "x"}}]).parts[0]

    assert isinstance(part, Opaque)
    assert json.loads(bytes(part.raw)) == {"type": "image_url", "image_url": {"url": "x"}}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param('{"a": 1}', '{"a": 1}', id="text"),
        pytest.param("{broken", "{broken", id="broken text is kept"),
        pytest.param({"a": 1}, '{"a": 1}', id="an object"),
        pytest.param(None, "", id="null"),
        pytest.param("", "", id="empty"),
    ],
)
def test_earlier_calls(arguments, text):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}

    assert message(role="assistant", content=None, tool_calls=[call]).parts == (Call("c1", "f", text),)


def test_a_call_without_arguments_or_id():
    call = {"function": {"name": "f"}}

    assert message(role="assistant", tool_calls=[call]).parts == (Call("", "f", ""),)


def test_null_tool_calls_are_none():
    assert message(role="assistant", content="x", tool_calls=None).parts == (Text("x"),)


def test_a_custom_call_passes_through():
    parts = message(
        role="assistant", tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "x"}}]
    ).parts

    assert isinstance(parts[0], Opaque)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_comes_first_under_its_own_name(field):
    assert message(role="assistant", content="x", **{field: "why"}).parts == (
        Reasoning("why", field),
        Text("x"),
    )


def test_reasoning_that_is_no_text_is_left_in_the_bytes():
    assert message(role="assistant", content="x", reasoning={"effort": 1}).parts == (Text("x"),)


@pytest.mark.parametrize(
    ("content", "text"),
    [("ok", "ok"), (None, ""), ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb")],
)
def test_tool_results(content, text):
    parts = message(role="tool", tool_call_id="c1", name="f", content=content).parts

    assert parts == (Result("c1", text, "f"),)


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool", "critic"])
def test_every_role_passes(role):
    assert message(role=role, content="x").role == role


def test_messages_tools_and_options_keep_the_callers_bytes():
    given = b'{"b":  1, "messages": [ {"role": "user",  "content": "\\u00e9"} ], "a": [1, 2], "tools":[{"type":"function", "function": {"name":"f"}}]}'

    request = decode_request(given)

    assert bytes(request.messages[0].raw) == b'{"role": "user",  "content": "\\u00e9"}'
    assert request.messages[0].protocol is Protocol.OPENAI
    assert bytes(request.tools[0].raw) == b'{"type":"function", "function": {"name":"f"}}'
    assert [(name, bytes(raw)) for name, raw in request.options.items()] == [("b", b"1"), ("a", b"[1, 2]")]


def test_null_is_absent_for_optional_fields():
    request = decode_request(body(tools=None, tool_choice=None, model=None, stream=None))

    assert (request.tools, request.tool_choice, request.model, request.stream) == ((), None, None, False)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        ({"type": "auto"}, ToolChoice("auto")),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("named", "f")),
        ({"type": "function", "name": "f"}, ToolChoice("named", "f")),
        ({"type": "custom", "custom": {"name": "f"}}, ToolChoice("named", "f")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
            ToolChoice("required"),
        ),
    ],
)
def test_tool_choice(choice, expected):
    assert decode_request(body(tool_choice=choice)).tool_choice == expected


def test_a_function_tool():
    found = tool(
        type="function", function={"name": "f", "description": "d", "parameters": {"type": "object"}}
    )

    assert (found.name, found.description, found.parameters, found.kind) == (
        "f",
        "d",
        {"type": "object"},
        "function",
    )


@pytest.mark.parametrize("parameters", [None, True, "x", []], ids=str)
def test_a_schema_that_is_no_object_says_nothing(parameters):
    assert (
        tool(
            type="function", function={"name": "f", "description": None, "parameters": parameters}
        ).parameters
        == {}
    )


def test_a_tool_without_a_type_is_a_function():
    assert tool(function={"name": "f"}).kind == "function"


def test_tools_of_other_kinds_pass_through():
    found = tool(type="web_search", web_search={"size": 1})

    assert (found.kind, found.name) == ("web_search", "web_search")


def test_the_same_tools_are_read_once():
    given = body(tools=[{"type": "function", "function": {"name": "f"}}])

    assert decode_request(given).tools is decode_request(given).tools


WRONG = [
    pytest.param(b"", None, id="nothing"),
    pytest.param(b"{", None, id="half"),
    pytest.param(b"nope", None, id="no json"),
    pytest.param(b"[]", None, id="a list"),
    pytest.param(b'"x"', None, id="a string"),
    pytest.param(b"\xff\xfe{}", None, id="no utf-8"),
    pytest.param(b"{}", "messages", id="no messages"),
    pytest.param(b'{"messages":null}', "messages", id="null messages"),
    pytest.param(b'{"messages":{}}', "messages", id="messages no list"),
    pytest.param(b'{"messages":[1]}', "messages[0]", id="message no object"),
    pytest.param(b'{"messages":[{"content":"x"}]}', "messages[0]", id="no role"),
    pytest.param(b'{"messages":[{"role":1}]}', "messages[0].role", id="role no string"),
    pytest.param(b'{"messages":[{"role":"user","content":5}]}', "messages[0].content", id="content a number"),
    pytest.param(
        b'{"messages":[{"role":"user","content":[1]}]}', "messages[0].content[0]", id="part a number"
    ),
    pytest.param(b'{"messages":[{"role":"user","content":"\xff"}]}', "messages[0]", id="text no utf-8"),
    pytest.param(
        b'{"messages":[{"role":"assistant","tool_calls":[{}]}]}',
        "messages[0].tool_calls[0].function",
        id="no function",
    ),
    pytest.param(
        b'{"messages":[{"role":"assistant","tool_calls":[{"function":{}}]}]}',
        "messages[0].tool_calls[0].function.name",
        id="call without a name",
    ),
    pytest.param(
        b'{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"\xff"}}]}]}',
        "messages[0].tool_calls[0].function.arguments",
        id="arguments no utf-8",
    ),
    pytest.param(body(stream="false"), "stream", id="stream a string"),
    pytest.param(body(model=5), "model", id="model a number"),
    pytest.param(body(tools={}), "tools", id="tools no list"),
    pytest.param(body(tools=[1]), "tools[0]", id="tool no object"),
    pytest.param(body(tools=[{}]), "tools[0].type", id="tool empty"),
    pytest.param(body(tools=[{"type": "function"}]), "tools[0].function", id="tool without function"),
    pytest.param(
        body(tools=[{"type": "function", "function": {}}]), "tools[0].function.name", id="tool no name"
    ),
    pytest.param(body(tool_choice="banana"), "tool_choice", id="unknown choice"),
    pytest.param(body(tool_choice={"type": "function"}), "tool_choice", id="choice names nothing"),
    pytest.param(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", None, id="too deep"),
    pytest.param(b'{"a":NaN,"messages":' + b"[" * 100_000, None, id="too deep, and no strict JSON before"),
    pytest.param(
        b'{"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":'
        + b'{"a":' * 90
        + b"1"
        + b"}" * 90
        + b"}}]}",
        "tools[0].function.parameters",
        id="schema too deep",
    ),
]


@pytest.mark.parametrize(("given", "param"), WRONG)
def test_what_is_wrong_is_named(given, param):
    with pytest.raises(RequestError) as caught:
        decode_request(given)

    assert caught.value.param == param
    if param is not None:
        assert param in str(caught.value)


def test_halves_of_emoji_and_nan_do_not_stop_a_request():
    request = decode_request(b'{"messages":[{"role":"user","content":"a\\ud83d"}],"temperature":NaN}')

    assert request.messages[0].parts == (Text("a\ufffd"),)
    assert bytes(request.messages[0].raw) == b'{"role":"user","content":"a\\ufffd"}'
    assert bytes(request.options["temperature"]) == b"null"


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_no_body_breaks_the_decoder(given):
    with contextlib.suppress(RequestError):
        decode_request(given)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "function", "name", "arguments", "type", "parameters", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(messages=st.lists(JSON, max_size=3), tools=JSON, choice=JSON)
def test_no_json_breaks_the_decoder(messages, tools, choice):
    with contextlib.suppress(RequestError):
        decode_request(json.dumps({"messages": messages, "tools": tools, "tool_choice": choice}).encode())
