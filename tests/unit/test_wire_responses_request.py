import json
from itertools import chain, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from forge.core.request import ToolChoice
from forge.errors import RequestError
from forge.wire.openai import encode_request
from forge.wire.responses_request import decode_request

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
USER = {"role": "user", "content": "Hi"}


class Nothing:
    def conversation(self, response_id):
        raise RequestError(f"{response_id} is not stored", "previous_response_id")

    def item(self, item_id):
        return None


class Stored(Nothing):
    def __init__(self, *items):
        self.items = [Raw(json.dumps(item).encode()) for item in items]

    def conversation(self, response_id):
        return self.items

    def item(self, item_id):
        return next((item for item in self.items if msgspec.json.decode(item).get("id") == item_id), None)


def decode(stored=None, **fields):
    return decode_request(json.dumps({"input": "Hi", **fields}).encode(), stored or Nothing())


def sent(request):
    """The chat that a backend gets."""
    return json.loads(encode_request(request))


def options(**fields):
    return {name: msgspec.json.decode(raw) for name, raw in decode(**fields).options.items()}


def test_a_plain_question():
    request = decode(model="m", instructions="Be short.")
    assert sent(request) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}],
    }
    assert not request.stream
    assert request.store


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"max_output_tokens": 5}, {"max_tokens": 5}, id="max_output_tokens"),
        pytest.param({"temperature": 0.5, "top_p": 1}, {"temperature": 0.5, "top_p": 1}, id="sampling"),
        pytest.param({"parallel_tool_calls": False}, {"parallel_tool_calls": False}, id="parallel"),
        pytest.param({"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}, id="effort"),
        pytest.param({"reasoning": {"effort": None, "summary": "auto"}}, {}, id="no-effort"),
        pytest.param({"user": "u", "service_tier": "flex"}, {"user": "u", "service_tier": "flex"}, id="user"),
        pytest.param({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}, id="cache-key"),
        pytest.param({"top_logprobs": 2}, {"logprobs": True, "top_logprobs": 2}, id="top_logprobs"),
        pytest.param({"include": ["message.output_text.logprobs"]}, {"logprobs": True}, id="logprobs"),
        pytest.param({"text": {"verbosity": "low"}}, {"verbosity": "low"}, id="verbosity"),
        pytest.param({"text": {"format": {"type": "text"}}}, {}, id="text"),
        pytest.param(
            {"text": {"format": {"type": "json_object"}}},
            {"response_format": {"type": "json_object"}},
            id="json_object",
        ),
        pytest.param(
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"a": 1}, "strict": True}}},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": {"a": 1}, "strict": True},
                }
            },
            id="json_schema",
        ),
        pytest.param({"top_k": 3, "chat_template_kwargs": {"a": 1}}, {"top_k": 3, "chat_template_kwargs": {"a": 1}}, id="the-backends-own"),
        pytest.param({"metadata": {"a": "b"}, "store": False, "stream_options": {}}, {}, id="kept-here"),
        pytest.param({"temperature": None, "text": None, "reasoning": None}, {"temperature": None}, id="nulls"),
    ],
)  # fmt: skip
def test_what_the_backend_is_told(fields, expected):
    assert options(**fields) == expected


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        pytest.param({"max_tool_calls": 3}, "'max_tool_calls'", id="max_tool_calls"),
        pytest.param({"truncation": "auto"}, "'truncation'", id="truncation"),
        pytest.param({"client_metadata": {"a": "b"}}, "'client_metadata'", id="client_metadata"),
        pytest.param({"tools": [{"type": "web_search"}]}, "tools of type 'web_search'", id="tool"),
        pytest.param({"tools": [FUNCTION, FUNCTION]}, "the second tool called 'f'", id="twice"),
        pytest.param({"include": ["file_search_call.results"]}, "include 'file_search_call.results'", id="include"),
        pytest.param({"input": [USER, {"type": "web_search_call"}]}, "input items of type 'web_search_call'", id="item"),
        pytest.param(
            {"input": [USER, {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}]},
            "reasoning that was encrypted elsewhere",
            id="reasoning",
        ),
    ],
)  # fmt: skip
def test_what_no_backend_is_told_is_named(fields, named):
    request = decode(**fields)
    assert request.left_out == (named,)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"truncation": "disabled", "max_tool_calls": None, "background": False}, id="defaults"),
        pytest.param({"include": ["reasoning.encrypted_content"]}, id="include"),
        pytest.param({"tools": [FUNCTION]}, id="tools"),
    ],
)
def test_nothing_is_named_where_all_is_said(fields):
    assert decode(**fields).left_out == ()


def test_the_answer_repeats_the_request():
    tools = [FUNCTION, {"type": "web_search", "filters": {"a": 1}}]
    repeated = json.loads(
        msgspec.json.encode(
            decode(
                tools=tools,
                tool_choice={"type": "function", "name": "f"},
                instructions="i",
                metadata={"a": "b"},
                temperature=0.2,
                reasoning={"effort": "low"},
                max_output_tokens=9,
            ).given
        )
    )
    assert repeated["tools"] == tools
    assert repeated["tool_choice"] == {"type": "function", "name": "f"}
    assert (repeated["instructions"], repeated["metadata"]) == ("i", {"a": "b"})
    assert (repeated["temperature"], repeated["max_output_tokens"]) == (0.2, 9)
    assert repeated["reasoning"] == {"effort": "low", "summary": None}
    assert repeated["text"] == {"format": {"type": "text"}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"input": None}, "input", id="no-input"),
        pytest.param({"input": 5}, "input", id="input"),
        pytest.param({"input": [5]}, "input[0]", id="item"),
        pytest.param({"input": [{}]}, "input[0].type", id="no-type"),
        pytest.param({"input": [{"type": "message", "content": "a"}]}, "input[0]", id="no-role"),
        pytest.param({"input": [{"role": 5}]}, "input[0].role", id="role"),
        pytest.param({"input": [USER, {"role": "user", "content": 5}]}, "input[1].content", id="content"),
        pytest.param({"input": [{"role": "user", "content": [5]}]}, "input[0].content[0]", id="part"),
        pytest.param({"input": [{"role": "user", "content": [{}]}]}, "input[0].content[0].type", id="part-type"),
        pytest.param({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text", id="no-text"),
        pytest.param({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].image_url", id="no-image"),
        pytest.param({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0].file_id", id="image-file"),
        pytest.param({"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]}, "input[0].content[0].file_url", id="file-url"),
        pytest.param({"input": [{"type": "function_call", "call_id": "c"}]}, "input[0]", id="call-without-name"),
        pytest.param({"input": [{"type": "function_call", "name": "f", "arguments": {}}]}, "input[0].arguments", id="arguments"),
        pytest.param({"input": [{"type": "item_reference", "id": "i"}]}, "input[0].id", id="reference"),
        pytest.param({"input": [{"id": "i"}]}, "input[0].id", id="short-reference"),
        pytest.param({"input": [{"type": "additional_tools"}]}, "input[0]", id="no-additional-tools"),
        pytest.param({"input": [{"type": "additional_tools", "tools": [5]}]}, "tools[0]", id="additional-tool"),
        pytest.param({"input": [{"type": "additional_tools", "tools": []}], "tools": 5}, "tools", id="tools-beside"),
        pytest.param({"previous_response_id": "r"}, "previous_response_id", id="previous"),
        pytest.param({"previous_response_id": 5}, "previous_response_id", id="previous-type"),
        pytest.param({"background": True}, "background", id="background"),
        pytest.param({"conversation": "c"}, "conversation", id="conversation"),
        pytest.param({"prompt": {"id": "p"}}, "prompt", id="prompt"),
        pytest.param({"stream": "yes"}, "stream", id="stream"),
        pytest.param({"store": 1}, "store", id="store"),
        pytest.param({"temperature": "hot"}, "temperature", id="temperature"),
        pytest.param({"max_output_tokens": 0}, "max_output_tokens", id="no-tokens"),
        pytest.param({"max_output_tokens": 1.5}, "max_output_tokens", id="half-tokens"),
        pytest.param({"include": ["a", 1]}, "include[1]", id="include"),
        pytest.param({"text": {"format": {"type": "xml"}}}, "text.format.type", id="format"),
        pytest.param({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema", id="schema"),
        pytest.param({"tools": {}}, "tools", id="tools"),
        pytest.param({"tools": ["f"]}, "tools[0]", id="tool"),
        pytest.param({"tools": [FUNCTION, {"name": "g"}]}, "tools[1].type", id="tool-type"),
        pytest.param({"tools": [{"type": "function"}]}, "tools[0].name", id="tool-name"),
        pytest.param({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}]}, "tools[0].tools[0].name", id="inner-name"),
        pytest.param({"tools": [{"type": "namespace", "name": "n"}]}, "tools[0].tools", id="namespace"),
        pytest.param({"tools": [FUNCTION], "tool_choice": "sometimes"}, "tool_choice", id="choice"),
        pytest.param({"tools": [FUNCTION], "tool_choice": {"type": "function"}}, "tool_choice.name", id="choice-name"),
        pytest.param({"tools": [FUNCTION], "tool_choice": {"type": "web_search_preview"}}, "tool_choice", id="hosted-choice"),
        pytest.param({"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.tools", id="allowed"),
        pytest.param({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice", id="required-of-none"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(fields, param):
    with pytest.raises(RequestError) as caught:
        decode(**fields)
    assert caught.value.param == param
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'{"input": "a"', id="cut"),
        pytest.param(b'{"input": [' * 5000, id="deep"),
        pytest.param(b'{"input": "Hi", "tools": ' + b"[" * 900 + b"]" * 900 + b"}", id="deep-tools"),
        pytest.param(b'{"input": "\xff"}', id="not-utf8"),
    ],
)
def test_what_is_no_request(body):
    with pytest.raises(RequestError):
        decode_request(body, Nothing())


def test_half_an_emoji_and_nan_are_read_as_elsewhere():
    request = decode_request(b'{"input": "a\\ud83d", "temperature": NaN}', Nothing())
    assert sent(request)["messages"] == [{"role": "user", "content": "a\ufffd"}]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "a", "user", "message", "function"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "role", "content", "text", "name", "id", "call_id", "arguments", "output"),
                    *("summary", "tools", "parameters", "format", "mode", "effort", "image_url", "action"),
                ]
            ),
            inner
            | st.sampled_from(
                [
                    *("input_text", "input_image", "function_call", "function_call_output", "reasoning"),
                    *("custom", "namespace", "allowed_tools", "json_schema", "shell_call", "item_reference"),
                ]
            ),
            max_size=4,
        )
    ),
    max_leaves=12,
)
FIELDS = ["input", "tools", "tool_choice", "text", "reasoning", "include", "metadata", "instructions", "x"]


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5))
def test_whatever_comes_is_read_or_refused(fields):
    try:
        request = decode(**fields)
    except RequestError:
        return
    assert isinstance(sent(request)["messages"], list)


# -- tool_choice --------------------------------------------------------------------------------------------

NAMESPACE = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "g"}]}
CUSTOM = {"type": "custom", "name": "c"}


@pytest.mark.parametrize(
    ("choice", "expected", "tools"),
    [
        pytest.param(None, None, ["f", "n__g", "c"], id="none-given"),
        pytest.param("auto", ToolChoice("auto"), ["f", "n__g", "c"], id="auto"),
        pytest.param("none", ToolChoice("none"), ["f", "n__g", "c"], id="none"),
        pytest.param("required", ToolChoice("required"), ["f", "n__g", "c"], id="required"),
        pytest.param({"type": "function", "name": "f"}, ToolChoice("named", "f"), ["f", "n__g", "c"], id="function"),
        pytest.param({"type": "function", "name": "g"}, ToolChoice("named", "n__g"), ["f", "n__g", "c"], id="inner"),
        pytest.param({"type": "function", "namespace": "n", "name": "g"}, ToolChoice("named", "n__g"), ["f", "n__g", "c"], id="qualified"),
        pytest.param({"type": "custom", "name": "c"}, ToolChoice("named", "c"), ["f", "n__g", "c"], id="custom"),
        pytest.param({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}, ToolChoice("required"), ["f"], id="allowed"),
        pytest.param({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}, None, [], id="allowed-none"),
    ],
)  # fmt: skip
def test_tool_choice(choice, expected, tools):
    request = decode(tools=[FUNCTION, NAMESPACE, CUSTOM], tool_choice=choice)
    assert request.tool_choice == expected
    assert [tool.name for tool in request.tools] == tools


# -- conversations ------------------------------------------------------------------------------------------

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":  1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
ANSWER = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}  # fmt: skip


def test_what_came_before_is_what_would_have_been_sent():
    whole = decode(input=[USER, CALL, OUTPUT, USER], instructions="i")
    later = decode(Stored(USER, CALL), input=[OUTPUT, USER], instructions="i", previous_response_id="r")
    assert encode_request(later) == encode_request(whole)
    assert [msgspec.json.decode(item) for item in later.items] == [OUTPUT, USER]
    assert (later.previous, later.given["previous_response_id"]) == ("r", "r")


def test_a_response_may_be_gone_on_from_without_input():
    request = decode(Stored(USER, ANSWER), input=None, previous_response_id="r")
    assert [m["role"] for m in sent(request)["messages"]] == ["user", "assistant"]


def test_tools_that_an_item_offers():
    more = {"type": "additional_tools", "role": "developer", "tools": [{**FUNCTION, "name": "g"}]}
    request = decode(input=[USER, more], tools=[FUNCTION])
    assert [tool.name for tool in request.tools] == ["f", "g"]
    assert [m["role"] for m in sent(request)["messages"]] == ["user"]
    assert json.loads(msgspec.json.encode(request.given))["tools"] == [FUNCTION]


@pytest.mark.parametrize(
    "reference", [pytest.param({"type": "item_reference", "id": "msg_1"}, id="typed"), {"id": "msg_1"}]
)
def test_a_reference_is_the_item(reference):
    request = decode(Stored(USER, ANSWER), input=[USER, reference, USER])
    assert encode_request(request) == encode_request(decode(input=[USER, ANSWER, USER]))


def test_a_longer_conversation_begins_as_the_shorter_one():
    turns = [
        [{"role": "developer", "content": "d"}, USER],
        [CALL, {**CALL, "call_id": "c2", "id": "fc_2"}, OUTPUT, {**OUTPUT, "call_id": "c2"}],
        [ANSWER, USER],
    ]
    bodies = [
        encode_request(decode(instructions="i", tools=[FUNCTION], input=[*chain(*turns[: n + 1])]))
        for n in range(len(turns))
    ]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter[: shorter.rindex(b"]")])
