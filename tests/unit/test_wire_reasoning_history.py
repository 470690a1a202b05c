"""What is left of the thinking in a history, and that nothing else is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from forge.core.request import Call, ChatMessage, Protocol, Reasoning, Text
from forge.wire.openai import decode_request, encode_messages
from forge.wire.reasoning_history import with_reasoning

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{ }"}}


def read(*messages):
    return decode_request(json.dumps({"messages": messages}).encode()).messages


def sent(messages, replay):
    return [json.loads(bytes(raw)) for raw in encode_messages(with_reasoning(messages, replay))]


FIRST = {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [CALL], "x": 1}
SECOND = {"role": "assistant", "content": "Done.", "reasoning": "aha"}
USER = {"role": "user", "content": "go", "reasoning_content": "not the model's"}


@pytest.mark.parametrize(
    ("replay", "kept"),
    [("full", {0, 1}), ("keep-last", {1}), ("none", set())],
)
def test_thinking_goes_and_everything_else_stays(replay, kept):
    given_messages = [USER, FIRST, USER, SECOND, USER]
    thinks = {0: "reasoning_content", 1: "reasoning"}
    expected = [USER, dict(FIRST), USER, dict(SECOND), USER]
    for number, entry in enumerate((expected[1], expected[3])):
        if number not in kept:
            del entry[thinks[number]]

    assert sent(read(*given_messages), replay) == expected


def test_a_message_that_keeps_its_thinking_keeps_its_bytes():
    messages = read(USER, FIRST, SECOND)
    kept = with_reasoning(messages, "keep-last")
    assert kept[0] is messages[0]
    assert kept[2] is messages[2]


def test_blocks_of_thinking_leave_a_message_of_anthropics():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
    ]
    raw = Raw(json.dumps({"role": "assistant", "content": content}).encode())
    parts = (Reasoning("hm", signature="s"), Text("I look."), Call(id="c1", name="f", arguments="{}"))
    message = ChatMessage(role="assistant", parts=parts, raw=raw, protocol=Protocol.ANTHROPIC)

    (left,) = with_reasoning([message], "none")

    assert left.parts == parts[1:]
    assert left.raw is not None
    assert json.loads(bytes(left.raw))["content"] == content[2:]


def test_a_message_of_anthropics_that_was_all_thinking_is_not_left_without_content():
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    raw = Raw(json.dumps({"role": "assistant", "content": content}).encode())
    parts = (Reasoning("hm", signature="s"),)
    message = ChatMessage(role="assistant", parts=parts, raw=raw, protocol=Protocol.ANTHROPIC)

    (left,) = with_reasoning([message], "none")

    assert [block["type"] for block in json.loads(bytes(left.raw))["content"]] == ["text"]


@given(st.lists(st.sampled_from([USER, FIRST, SECOND]), max_size=8), st.integers(0, 8))
def test_without_thinking_a_longer_history_only_adds(history, cut):
    whole = sent(read(*history), "none")
    assert whole[: len(history[:cut])] == sent(read(*history[:cut]), "none")
