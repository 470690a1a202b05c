import json

import pytest

from forge.core.request import Call, ChatMessage, Opaque, Reasoning, Request, Result, Text
from forge.errors import RequestError
from forge.wire.ollama import effort, encode_request, thinking, unsupported
from forge.wire.openai import decode_request

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def asked(**fields):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    return decode_request(json.dumps(body).encode())


def sent(request, **options):
    return json.loads(encode_request(request, **options))


def messages(*given):
    return sent(Request(messages=given))["messages"]


def test_a_plain_request():
    assert sent(asked(stream=True)) == {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_fields_go_where_ollama_has_them():
    request = asked(
        max_tokens=9, temperature=0, stop=["x"], top_k=None, tool_choice="auto", keep_alive="5m", n=1,
        litellm_session_id="s", options={"num_gpu": 1},
    )  # fmt: skip
    body = sent(request, options={"temperature": 1, "num_ctx": 8192})

    assert body["options"] == {
        "temperature": 0,
        "num_ctx": 8192,
        "num_predict": 9,
        "stop": ["x"],
        "num_gpu": 1,
    }
    assert (body["keep_alive"], body["litellm_session_id"]) == ("5m", "s")
    assert not {"n", "tool_choice", "max_tokens", "stop"} & body.keys()


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({"response_format": {"type": "json_object"}}, "json"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"a": 1}}}}, {"a": 1}),
        ({"response_format": {"type": "text"}}, None),
        ({"format": "json"}, "json"),
    ],
)
def test_structured_answers(fields, form):
    assert sent(asked(**fields)).get("format") == form
    assert sent(asked(**fields), form={"ours": 1})["format"] == {"ours": 1}


@pytest.mark.parametrize(
    ("fields", "own", "openai"),
    [
        ({"think": False}, False, None),
        ({"think": "high"}, "high", None),
        ({"think": 5}, None, None),
        ({"reasoning_effort": "low"}, None, "low"),
        ({"reasoning_effort": "none"}, None, False),
        ({"reasoning_effort": "odd"}, None, None),
        ({}, None, None),
    ],
)
def test_thinking(fields, own, openai):
    assert (thinking(asked(**fields)), effort(asked(**fields))) == (own, openai)
    assert "think" not in sent(asked(**fields))
    assert sent(asked(**fields), think="low")["think"] == "low"


def test_no_tools_where_the_caller_wants_no_call():
    assert sent(asked(tools=[TOOL]))["tools"] == [TOOL]
    assert "tools" not in sent(asked(tools=[TOOL], tool_choice="none"))


def test_calls_and_results():
    history = messages(
        ChatMessage(role="developer", parts=(Text("be good"),)),
        ChatMessage(role="assistant", parts=(Reasoning("why"), Text("so"), Call("1", "f", '{"a": 1}'))),
        ChatMessage(role="tool", parts=(Result("1", "done"),)),
    )

    assert history == [
        {"role": "system", "content": "be good"},
        {
            "role": "assistant",
            "content": "so",
            "thinking": "why",
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "content": "done", "tool_name": "f", "tool_call_id": "1"},
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("{'a': 1}", {"a": 1}),
        ("[1]", {"unreadable_arguments": "[1]"}),
        ("{oops", {"unreadable_arguments": "{oops"}),
    ],
)
def test_arguments_are_always_an_object(text, arguments):
    (message,) = messages(ChatMessage(role="assistant", parts=(Call("1", "f", text),)))

    assert message["tool_calls"][0]["function"]["arguments"] == arguments


def image(url):
    content = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": url}}]
    return asked(messages=[{"role": "user", "content": content}])


def test_images():
    (message,) = sent(image("data:image/png;base64,AAAA"))["messages"]

    assert message == {"role": "user", "content": "what?", "images": ["AAAA"]}


@pytest.mark.parametrize("url", ["http://h/x.png", "data:image/png,raw", "data:application/pdf;base64,AA"])
def test_images_that_cannot_be_sent(url):
    with pytest.raises(RequestError):
        sent(image(url))
    with pytest.raises(RequestError):
        messages(ChatMessage(role="user", parts=(Opaque(b'{"type":"odd"}'),)))


def test_a_longer_conversation_starts_with_the_bytes_of_the_shorter():
    turns = [
        ChatMessage(role="user", parts=(Text("hi"),)),
        ChatMessage(role="assistant", parts=(Call("1", "f", "{}"),)),
        ChatMessage(role="tool", parts=(Result("1", "r"),)),
        ChatMessage(role="user", parts=(Text("no, again"),)),
    ]
    for count in range(1, len(turns)):
        shorter = encode_request(Request(messages=tuple(turns[:count])))
        assert encode_request(Request(messages=tuple(turns[: count + 1]))).startswith(shorter[:-2])


def test_what_ollama_has_nothing_for_is_named():
    options = {
        "n": 2, "user": "u", "logit_bias": {}, "metadata": {"a": 1}, "parallel_tool_calls": False, "temperature": 0,
        "service_tier": None, "stop": ["x"],
    }  # fmt: skip
    tools = [TOOL, {"type": "web_search"}]
    assert unsupported(asked(tools=tools, **options)) == (
        "metadata",
        "n",
        "tools of type web_search",
        "user",
    )
    assert unsupported(asked(n=1)) == ()
