import json
from itertools import pairwise

import pytest
from msgspec import Raw

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
from forge.wire.openai import decode_request, encode_messages
from forge.wire.prompted import as_prompted

TOOL = Tool(
    name="f", description="does f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
USER = ChatMessage(role="user", parts=(Text("hi"),))


def prompted(*messages, tools=(TOOL,), **fields):
    return as_prompted(Request(messages=messages, tools=tools, **fields))


def texts(request):
    return [(m.role, "".join(p.text for p in m.parts if isinstance(p, Text))) for m in request.messages]


def test_tools_are_described_in_a_system_message_of_their_own():
    request = prompted(USER)

    assert (request.tools, request.tool_choice) == ((), None)
    (role, description), user = texts(request)
    assert role == "system"
    assert "does f" in description
    assert user == ("user", "hi")


def test_what_only_goes_with_tools_goes_with_them():
    options = {"parallel_tool_calls": Raw(b"false"), "seed": Raw(b"1")}
    request = as_prompted(
        Request(messages=(), tools=(TOOL,), tool_choice=ToolChoice("required"), options=options)
    )

    assert (request.tools, request.tool_choice) == ((), None)
    assert request.options == {"seed": Raw(b"1")}
    assert [role for role, _ in texts(request)] == ["system"]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_tools_are_described_after_the_callers_own_system_text(role):
    request = prompted(ChatMessage(role=role, parts=(Text("Be brief."),)), USER)

    assert texts(request)[0][0] == role
    assert texts(request)[0][1].startswith("Be brief.\n\n")
    assert "does f" in texts(request)[0][1]


@pytest.mark.parametrize(
    ("tools", "choice"),
    [((), None), ((TOOL,), ToolChoice("none")), ((Tool(name="web", kind="web_search"),), None)],
    ids=["no tools", "tool_choice none", "no function"],
)
def test_nothing_is_described_when_nothing_can_be_called(tools, choice):
    assert texts(prompted(USER, tools=tools, tool_choice=choice)) == [("user", "hi")]


def test_plain_messages_keep_the_callers_bytes():
    given = decode_request(b'{"messages":[{"role": "user",  "content":"hi"}]}')

    assert [bytes(m) for m in encode_messages(as_prompted(given).messages)] == [
        b'{"role": "user",  "content":"hi"}'
    ]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        pytest.param((Call("1", "f", '{"a": 1}'),), '{"tool":"f","args":{"a":1}}', id="one"),
        pytest.param(
            (Text("so:"), Call("1", "f", "{}"), Call("2", "g", "")),
            'so:\n{"tool":"f","args":{}}\n{"tool":"g","args":{}}',
            id="text and two",
        ),
        pytest.param(
            (Reasoning("hm"), Call("1", "f", "{}")), '{"tool":"f","args":{}}', id="without its thinking"
        ),
        pytest.param((Call("1", "f", "{'a': 1,}"),), '{"tool":"f","args":{"a":1}}', id="mended"),
        pytest.param((Call("1", "f", '{"a": '),), '{"tool":"f","args":"{\\"a\\": "}', id="broken"),
    ],
)
def test_calls_become_the_json_that_was_asked_for(parts, text):
    assert texts(prompted(ChatMessage(role="assistant", parts=parts), tools=())) == [("assistant", text)]


def test_results_become_user_messages():
    results = ChatMessage(role="tool", parts=(Result("1", "ok", "f"), Result("2", "bad", "g", is_error=True)))

    said = texts(prompted(results, tools=()))

    assert [role for role, _ in said] == ["user", "user"]
    assert "f" in said[0][1]
    assert said[0][1].endswith("ok")
    assert said[1][1].endswith("bad")


def test_images_stay():
    image = Opaque(Raw(b'{"type":"image_url"}'))
    message = ChatMessage(role="tool", parts=(Result("1", "see"), image), protocol=Protocol.OPENAI)

    sent = [json.loads(m) for m in encode_messages(prompted(message, tools=()).messages)]

    assert [m["role"] for m in sent] == ["user", "user"]
    assert sent[1]["content"] == [{"type": "image_url"}]


def test_a_longer_conversation_only_adds():
    conversation = (
        USER,
        ChatMessage(role="assistant", parts=(Call("1", "f", "{oops"),)),
        ChatMessage(role="tool", parts=(Result("1", "no JSON", "f"),)),
        USER,
    )
    bodies = [encode_messages(prompted(*conversation[:n]).messages) for n in range(1, 5)]

    for shorter, longer in pairwise(bodies):
        assert longer[: len(shorter)] == shorter
