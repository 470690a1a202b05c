import json

import pytest

from forge.core.request import Call, Opaque, Protocol, Reasoning, Result, Text, ToolChoice
from forge.errors import RequestError
from forge.wire.anthropic import decode_request, encode_request
from forge.wire.anthropic_request import MEDIA_FOLLOWS

TOOL = {"name": "f", "input_schema": {"type": "object"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def decode(**fields):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **fields}
    return decode_request(json.dumps(body).encode())


def parts(content, role="user"):
    return list(decode(messages=[{"role": role, "content": content}]).messages[0].parts)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param({"type": "text", "text": "Hi"}, [Text("Hi")], id="text"),
        pytest.param(
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            [Call("t", "f", '{"a": 1}')],
            id="call",
        ),
        pytest.param({"type": "tool_use", "id": "t", "name": "f"}, [Call("t", "f", "{}")], id="no-input"),
        pytest.param(
            {"type": "tool_use", "id": "t", "name": "f", "input": "odd"},
            [Call("t", "f", '"odd"')],
            id="odd-input",
        ),
        pytest.param(
            {"type": "tool_result", "tool_use_id": "t", "content": "20 C"}, [Result("t", "20 C")], id="result"
        ),
        pytest.param({"type": "tool_result", "tool_use_id": "t"}, [Result("t", "")], id="empty-result"),
        pytest.param(
            {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True},
            [Result("t", "no", is_error=True)],
            id="error-result",
        ),
        pytest.param(
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            [Result("t", "a\nb")],
            id="result-of-blocks",
        ),
        pytest.param(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            [Reasoning("hm", signature="s")],
            id="thinking",
        ),
        pytest.param(
            {"type": "redacted_thinking", "data": "x"}, [Reasoning("", redacted="x")], id="redacted-thinking"
        ),
    ],
)
def test_blocks(block, expected):
    assert parts([block]) == expected


def test_an_image_in_a_result_follows_it():
    block = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "seen"}, IMAGE],
    }
    result, image = parts([block])

    assert result == Result("t", f"seen\n{MEDIA_FOLLOWS}")
    assert isinstance(image, Opaque)
    assert json.loads(bytes(image.raw)) == IMAGE


def test_what_is_read_elsewhere_keeps_its_bytes():
    [image] = parts([IMAGE])
    assert isinstance(image, Opaque)
    assert json.loads(bytes(image.raw)) == IMAGE


def test_options_keep_their_names_and_null_is_nothing():
    request = decode(stop_sequences=["X"], temperature=None, metadata={"user_id": "u"}, unheard_of=[1])

    assert request.protocol is Protocol.ANTHROPIC
    assert {name: json.loads(bytes(raw)) for name, raw in request.options.items()} == {
        "max_tokens": 9,
        "stop_sequences": ["X"],
        "metadata": {"user_id": "u"},
        "unheard_of": [1],
    }


@pytest.mark.parametrize(
    ("given", "expected", "single"),
    [
        ({"type": "auto"}, ToolChoice("auto"), False),
        ({"type": "any"}, ToolChoice("required"), False),
        ({"type": "none"}, ToolChoice("none"), False),
        ({"type": "tool", "name": "f"}, ToolChoice("named", "f"), False),
        ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice("auto"), True),
        ({"type": "any", "disable_parallel_tool_use": False}, ToolChoice("required"), False),
        (None, None, False),
    ],
)
def test_tool_choice(given, expected, single):
    request = decode(tools=[TOOL], tool_choice=given)
    assert request.tool_choice == expected
    assert ("parallel_tool_calls" in request.options) is single


def test_tools_of_every_kind():
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    custom = {**TOOL, "type": "custom", "description": "d"}
    functions = decode(tools=[TOOL, custom, search, {"type": "mcp_toolset", "mcp_server_name": "s"}]).tools

    assert [(tool.name, tool.kind) for tool in functions] == [
        ("f", "function"),
        ("f", "function"),
        ("web_search", "web_search_20250305"),
        ("mcp_toolset", "mcp_toolset"),
    ]
    assert functions[1].description == "d"
    assert json.loads(bytes(functions[2].raw)) == search


BODY = {
    "model": "claude-x",
    "max_tokens": 64,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, IMAGE]},
        {"role": "system", "content": "A note in between."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1.50}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE], "is_error": True},
                {"type": "document", "source": {"type": "file", "file_id": "x"}, "citations": {"enabled": True}},
            ],
        },
    ],
    "tools": [
        {**TOOL, "cache_control": {"type": "ephemeral"}, "strict": True},
        {"type": "bash_20250124", "name": "bash"},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "metadata": {"user_id": "u", "more": 1},
    "service_tier": "standard_only",
    "stop_sequences": [" ", "END"],
    "temperature": 0.5,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "context_management": {"edits": []},
    "unheard_of": {"a": [None, True]},
    "stream": True,
}  # fmt: skip


def test_a_backend_of_the_same_protocol_gets_the_very_same():
    sent = json.loads(encode_request(decode_request(json.dumps(BODY).encode())))
    assert sent == BODY


def test_numbers_keep_their_digits():
    body = json.dumps(BODY).replace("1.5", "1.50").encode()
    assert b'{"a": 1.50}' in encode_request(decode_request(body))


def test_a_conversation_that_opens_with_a_system_message_keeps_it_there():
    messages = [{"role": "system", "content": "first"}, {"role": "user", "content": "Hi"}]
    sent = json.loads(encode_request(decode(messages=messages, system="the prompt")))
    assert sent["messages"] == messages
    assert sent["system"] == "the prompt"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": {}}, "messages"),
        ({"messages": ["x"]}, "messages[0]"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "bard", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}]},
            "messages[0].content[0].name",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]},
            "messages[0].content[0].tool_use_id",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 7}]}]},
            "messages[0].content[0].content",
        ),
        ({"system": 7}, "system"),
        ({"system": [7]}, "system[0]"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": []}, "top_p"),
        ({"top_k": 1.5}, "top_k"),
        ({"stop_sequences": "X"}, "stop_sequences"),
        ({"stop_sequences": [1]}, "stop_sequences"),
        ({"stream": "yes"}, "stream"),
        ({"model": 7}, "model"),
        ({"metadata": "u"}, "metadata"),
        ({"thinking": True}, "thinking"),
        ({"tools": {}}, "tools"),
        ({"tools": [7]}, "tools[0]"),
        ({"tools": [{"input_schema": {}}]}, "tools[0].name"),
        ({"tools": [{"name": ""}]}, "tools[0].name"),
        ({"tools": [{"name": "f", "input_schema": "x"}]}, "tools[0].input_schema"),
        ({"tools": [{"type": 7}]}, "tools[0].type"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tool_choice": {"type": "some"}}, "tool_choice"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(fields, param):
    with pytest.raises(RequestError) as caught:
        decode(**fields)
    assert caught.value.param == param
    assert param.split(".")[0] in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b'{"messages": [{"role": "user", "content": "\xff"}]}', b"[" * 100_000],
    ids=["empty", "list", "cut", "text", "latin-1", "deep"],
)
def test_what_is_no_request(body):
    with pytest.raises(RequestError):
        decode_request(body)


def test_a_deep_schema_is_refused():
    schema = {}
    for _ in range(80):
        schema = {"type": "object", "properties": {"x": schema}}
    with pytest.raises(RequestError) as caught:
        decode(tools=[{"name": "f", "input_schema": schema}])
    assert caught.value.param == "tools[0].input_schema"


def test_a_conversation_that_goes_on_is_read_as_a_whole_one():
    turn = {"role": "user", "content": [{"type": "text", "text": "x" * 3000}, IMAGE]}
    bodies = [
        json.dumps({"model": "m", "messages": [turn] * count, "max_tokens": 9}).encode()
        for count in (2, 3, 5)
    ]
    requests = [decode_request(body) for body in bodies]
    for body, request in zip(bodies, requests, strict=True):
        assert json.loads(encode_request(request)) == json.loads(body)
        assert [message.parts[0] for message in request.messages] == [Text("x" * 3000)] * len(
            request.messages
        )
    assert requests[2].messages[0] is requests[1].messages[0]


def test_an_error_behind_a_known_beginning_is_named_where_it_is():
    turns = [{"role": "user", "content": "x" * 5000}, {"role": "assistant", "content": "y"}]
    decode(messages=turns)
    with pytest.raises(RequestError) as caught:
        decode(messages=[*turns, {"role": "bard", "content": "z"}])
    assert caught.value.param == "messages[2].role"
