import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from forge.core.request import (
    Call,
    ChatMessage,
    Opaque,
    Protocol,
    Reasoning,
    Request,
    Result,
    Text,
    Tool,
    ToolChoice,
)
from forge.errors import RequestError
from forge.wire.openai import decode_request, encode_request

USER = ChatMessage(role="user", parts=(Text("hi"),))


def encoded(request, **options):
    return json.loads(encode_request(request, **options))


def message(*parts, role="assistant"):
    return encoded(Request(messages=(ChatMessage(role=role, parts=parts),)))["messages"]


def request_of(**fields):
    return decode_request(json.dumps({"messages": [{"role": "user", "content": "hi"}], **fields}).encode())


def test_a_callers_messages_and_tools_go_out_byte_for_byte():
    messages = b'{"role": "user",  "content": "\\u00e9", "x":1.50}'
    tool = b'{"function": {"name":"f"},   "type":"function"}'

    body = encode_request(decode_request(b'{"tools":[%b],"messages":[%b]}' % (tool, messages)))

    assert body == b'{"tools":[%b],"messages":[%b]}' % (tool, messages)


def test_messages_are_the_last_field_but_for_the_tail():
    request = request_of(model="m", temperature=0.5, stop=["x"], tools=[], tool_choice="auto", stream=True)

    body = encode_request(request, defaults={"cache_prompt": b"true"}, tail={"response_format": b"{}"})

    assert list(json.loads(body)) == [
        "model",
        "temperature",
        "stop",
        "cache_prompt",
        "stream",
        "stream_options",
        "tool_choice",
        "messages",
        "response_format",
    ]


PARTS = st.one_of(
    st.builds(Text, st.text(max_size=5)),
    st.builds(Reasoning, st.text(max_size=5)),
    st.builds(Call, st.text(max_size=3), st.text(max_size=3), st.text(max_size=6)),
    st.builds(Result, st.text(max_size=3), st.text(max_size=5)),
)
MESSAGES = st.lists(
    st.builds(
        ChatMessage, role=st.sampled_from(["user", "assistant", "tool"]), parts=st.lists(PARTS).map(tuple)
    ),
    min_size=1,
    max_size=4,
)


@given(MESSAGES, MESSAGES, st.booleans())
def test_a_longer_conversation_starts_with_the_bytes_of_a_shorter_one(first, more, stream):
    short = Request(messages=tuple(first), tools=(Tool(name="f"),), stream=stream)
    long = structs.replace(short, messages=(*first, *more))

    start = encode_request(short).removesuffix(b"]}")

    assert encode_request(long, tail={"json_schema": b"{}"}).startswith(start)
    json.loads(encode_request(long))


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({}, 0.1, id="not given"),
        pytest.param({"temperature": None}, 0.1, id="null"),
        pytest.param({"temperature": 0}, 0, id="given"),
    ],
)
def test_defaults_fill_what_the_caller_left_open(given, sent):
    assert encoded(request_of(**given), defaults={"temperature": b"0.1"})["temperature"] == sent


def test_a_callers_model_wins():
    assert encoded(request_of(model="theirs"), defaults={"model": b'"ours"'})["model"] == "theirs"
    assert encoded(request_of(), defaults={"model": b'"ours"'})["model"] == "ours"


def test_usage_is_always_asked_for_in_a_stream():
    request = request_of(stream=True, stream_options={"include_usage": False, "include_obfuscation": False})

    assert encoded(request)["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert "stream_options" not in encoded(structs.replace(request, stream=False))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("required"), "required"),
        (ToolChoice("named", "f"), {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_tool_choice(choice, sent):
    assert encoded(Request(messages=(USER,), tool_choice=choice))["tool_choice"] == sent


def test_a_tool_of_our_own():
    sent = encoded(
        Request(messages=(USER,), tools=(Tool(name="f", description="d", parameters={"type": "object"}),))
    )

    assert sent["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    ]


def test_each_request_goes_out_with_its_own_tools():
    def sent(description):
        tool = Tool(name="f", description=description)
        return encoded(Request(messages=(USER,), tools=(tool,)))["tools"][0]["function"]["description"]

    assert [sent("one"), sent("two"), sent("one")] == ["one", "two", "one"]


def test_messages_of_our_own():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}

    assert message(Text("a"), Text("b")) == [{"role": "assistant", "content": "ab"}]
    assert message(Reasoning("why", "reasoning"), Text("a")) == [
        {"role": "assistant", "content": "a", "reasoning": "why"}
    ]
    assert message(Call("c", "f", '{"a":1}')) == [{"role": "assistant", "content": "", "tool_calls": [call]}]
    assert message(Result("c", "ok", "f"), Result("d", "no"), role="tool") == [
        {"role": "tool", "tool_call_id": "c", "content": "ok", "name": "f"},
        {"role": "tool", "tool_call_id": "d", "content": "no"},
    ]
    assert message(Result("c", "ok"), Text("and now"), role="user") == [
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "user", "content": "and now"},
    ]


def test_a_part_that_is_not_ours_to_read_keeps_its_place():
    image = Opaque(Raw(b'{"type":"image_url","image_url":{"url":"x"}}'))

    sent = message(Text("see"), image, role="user")

    assert sent[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]


def test_a_part_of_another_protocol_is_refused_not_lost():
    foreign = ChatMessage(role="user", parts=(Opaque(Raw(b"{}")),), protocol=Protocol.ANTHROPIC)

    with pytest.raises(RequestError, match="anthropic"):
        encode_request(Request(messages=(foreign,)))


def history(arguments):
    calls = [
        {"id": "1", "type": "function", "index": 0, "function": {"name": "f", "arguments": arguments}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": '{ "b": 2 }'}},
    ]
    return [
        {"role": "assistant", "content": None, "vendor": {"k": [1]}, "tool_calls": calls},
        {"role": "user"},
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        pytest.param('{"a": 1}', '{"a": 1}', id="right as it is"),
        pytest.param({"a": 1}, {"a": 1}, id="an object"),
        pytest.param("", "{}", id="empty"),
        pytest.param("{'a': True,}", '{"a":true}', id="one reading"),
        pytest.param('{"a": "x', '{"unreadable_arguments":"{\\"a\\": \\"x"}', id="cut off"),
        pytest.param("get the weather", '{"unreadable_arguments":"get the weather"}', id="prose"),
        pytest.param('{"a": "\\ud83d"}', '{"a":"\ufffd"}', id="half an emoji"),
    ],
)
def test_calls_that_no_server_would_take_are_mended_alone(arguments, sent):
    messages = history(arguments)

    out = encoded(request_of(messages=messages))["messages"]

    assert out[0]["tool_calls"][0]["function"]["arguments"] == sent
    out[0]["tool_calls"][0]["function"]["arguments"] = arguments
    assert out == messages


def test_an_untouched_neighbour_keeps_its_bytes_when_a_call_is_mended():
    body = json.dumps({"messages": history("{oops")}, separators=(", ", ":  ")).encode()

    assert b'"arguments":  "{ \\"b\\": 2 }"' in encode_request(decode_request(body))


@pytest.mark.parametrize("content", [None, [{"type": "text", "text": '"type":"function"'}]])
def test_a_call_without_a_type_gets_one(content):
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]

    sent = encoded(request_of(messages=[{"role": "assistant", "content": content, "tool_calls": calls}]))

    assert sent["messages"][0]["tool_calls"] == [{"type": "function", **calls[0]}]


def test_calls_of_another_kind_beside_one_that_is_mended_stay():
    other = {"id": "2", "type": "custom", "function": None}
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}, other]

    sent = encoded(request_of(messages=[{"role": "assistant", "content": None, "tool_calls": calls}]))

    assert sent["messages"][0]["tool_calls"] == [{"type": "function", **calls[0]}, other]


def test_a_call_with_null_arguments_gets_an_object():
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": None}}]

    sent = encoded(request_of(messages=[{"role": "assistant", "content": None, "tool_calls": calls}]))

    assert sent["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_conversation_that_grows_is_encoded_as_one_that_was_never_seen():
    broken = history('{"city": "Par')
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 5000}, *broken * 6]}).encode()
    messages = (
        *decode_request(body).messages,
        USER,
        ChatMessage(role="assistant", parts=(Call("c", "f", "{}"),)),
    )
    branch = (*messages[:12], USER)

    for grown in [*(messages[:n] for n in range(len(messages) + 1)), branch, messages]:
        unseen = tuple(structs.replace(one) for one in grown)
        assert encode_request(Request(messages=grown)) == encode_request(Request(messages=unseen))


def test_half_an_emoji_in_the_name_of_an_option_or_a_default_is_an_escape():
    request = Request(messages=(), options={"\ud83d": Raw(b"1")})

    body = encode_request(request, defaults={"a\ud83d": b"2"}, tail={"b\ud83d": b"3"})

    assert body == rb'{"\ud83d":1,"a\ud83d":2,"messages":[],"b\ud83d":3}'
