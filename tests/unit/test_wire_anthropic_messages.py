import msgspec
import pytest
from msgspec import Raw

from forge.core.request import Call, ChatMessage, Opaque, Protocol, Reasoning, Result, Text
from forge.errors import RequestError
from forge.wire.anthropic_messages import encode_messages, split_system, system_blocks

F = Call("1", "f", '{"a": 1}')
G = Call("2", "g", "")


def user(*parts, role="user"):
    return ChatMessage(role=role, parts=tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant(*parts):
    return user(*parts, role="assistant")


def tool(call_id, content, **more):
    return ChatMessage(role="tool", parts=(Result(call_id, content, **more),))


def encoded(*messages):
    return msgspec.json.decode(msgspec.json.encode(encode_messages(messages)))


def text(value):
    return {"type": "text", "text": value}


def use(call_id, name, arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def shape(turns):
    return [(turn["role"], [block["type"] for block in turn["content"]]) for turn in turns]


def test_a_conversation_with_calls():
    assert encoded(
        user("hi"),
        assistant(Reasoning("why"), "let me see", F, G),
        tool("1", "one"),
        tool("2", "two", is_error=True),
        assistant("done"),
    ) == [
        {"role": "user", "content": [text("hi")]},
        {"role": "assistant", "content": [text("let me see"), use("1", "f", {"a": 1}), use("2", "g", {})]},
        {"role": "user", "content": [result("1", "one"), result("2", "two", is_error=True)]},
        {"role": "assistant", "content": [text("done")]},
    ]


def test_only_signed_thinking_is_sent_back():
    blocks = (Reasoning("why", signature="s"), Reasoning("", redacted="x"), Reasoning("unsigned"))

    assert encoded(user("hi"), assistant(*blocks, F), tool("1", "one"))[1]["content"] == [
        {"type": "thinking", "thinking": "why", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        use("1", "f", {"a": 1}),
    ]


def test_the_newest_words_stay_last():
    """A user's message after a result is neither moved before it nor joined to an older one."""
    turns = encoded(user("first"), assistant(F), tool("1", "sunny"), user("second"))

    assert shape(turns) == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result", "text"]),
    ]
    assert turns[2]["content"][1] == text("second")


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [user("hi"), assistant(F, G), tool("1", "one"), user("stop")],
            [("user", ["text"]), ("assistant", ["tool_use"] * 2), ("user", ["tool_result", "tool_result", "text"])],
            id="a call without its result",
        ),
        pytest.param(
            [user("hi"), assistant(F), assistant("so")],
            [("user", ["text"]), ("assistant", ["tool_use"]), ("user", ["tool_result"]), ("assistant", ["text"])],
            id="an answer right after a call",
        ),
        pytest.param(
            [user("hi"), assistant(F)],
            [("user", ["text"]), ("assistant", ["tool_use"])],
            id="results are still to come",
        ),
        pytest.param([user("hi"), tool("9", "lost")], [("user", ["text", "text"])], id="a result without a call"),
        pytest.param([user("a"), user("b")], [("user", ["text", "text"])], id="neighbours of one role"),
        pytest.param([user("hi"), assistant(""), user("so?")], [("user", ["text", "text"])], id="an empty turn"),
        pytest.param([user()], [("user", ["text"])], id="nothing said"),
        pytest.param([user("hi"), user("be good", role="system")], [("user", ["text", "text"])], id="late system"),
    ],
)  # fmt: skip
def test_turns_that_need_care(messages, expected):
    assert shape(encoded(*messages)) == expected


def test_a_call_that_was_not_run_is_told_to_be_an_error():
    turns = encoded(assistant(F, G), tool("1", "one"), user("stop"))

    assert [block.get("is_error", False) for block in turns[1]["content"]] == [False, True, False]


def test_ids_that_the_api_refuses_are_changed_on_both_sides():
    turns = encoded(assistant(Call("a.b:c", "f", "{}")), tool("a.b:c", "x"))

    assert turns[0]["content"][0]["id"] == turns[1]["content"][0]["tool_use_id"] == "a_b_c"


def openai_part(raw):
    return ChatMessage(role="user", parts=(Opaque(Raw(raw)),), protocol=Protocol.OPENAI)


@pytest.mark.parametrize(
    ("raw", "block"),
    [
        (
            b'{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}',
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        ),
        (
            b'{"type":"image_url","image_url":{"url":"https://h/x.png"}}',
            {"type": "image", "source": {"type": "url", "url": "https://h/x.png"}},
        ),
        (
            b'{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}}',
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
        ),
    ],
)
def test_images_and_documents(raw, block):
    assert encoded(openai_part(raw)) == [{"role": "user", "content": [block]}]


def test_parts_without_a_form_here():
    with pytest.raises(RequestError, match="input_audio"):
        encoded(openai_part(b'{"type":"input_audio","input_audio":{}}'))


def test_the_system_prompt():
    system, rest = split_system([
        user("a", role="system"), user("b", role="developer"), user("hi"), user("late", role="system"),
    ])  # fmt: skip
    blocks = ChatMessage(role="system", raw=Raw(b'[{"type":"text","text":"x"}]'), protocol=Protocol.ANTHROPIC)

    assert system_blocks(system) == [text("a"), text("b")]
    assert [message.role for message in rest] == ["user", "system"]
    assert msgspec.json.decode(msgspec.json.encode(system_blocks([blocks]))) == [text("x")]


def test_a_longer_conversation_starts_with_the_bytes_of_the_shorter():
    turns = [
        user("hi"),
        assistant("x", F),
        tool("1", "r"),
        user("no"),
        assistant(G),
        tool("2", "s"),
        user("so?"),
    ]
    for count in range(1, len(turns)):
        shorter = msgspec.json.encode(encode_messages(turns[:count]))
        longer = msgspec.json.encode(encode_messages(turns[: count + 1]))
        assert longer.startswith(shorter.rstrip(b"}]")), count


def test_messages_of_this_protocol_keep_the_pairs():
    raw = Raw(b'{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}')
    given = ChatMessage(role="assistant", parts=(F,), raw=raw, protocol=Protocol.ANTHROPIC)
    turns = encoded(given, tool("1", "fixed"))

    assert turns[1] == {"role": "user", "content": [result("1", "fixed")]}
