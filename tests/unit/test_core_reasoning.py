"""Thinking that is shown again."""

import pytest

from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo
from forge.core.reasoning import (
    filter_openai_reasoning_messages,
    fold_and_serialize,
    validate_reasoning_replay,
)


def say(type_, content, role="assistant", **fields):
    return Message(MessageRole(role), content, MessageMeta(MessageType(type_)), **fields)


def call(content=""):
    return say("tool_call", content, tool_calls=[ToolCallInfo("f", {}, "c")])


HISTORY = [
    say("user_input", "q", "user"),
    say("reasoning", "one"),
    say("reasoning", "two"),
    call("note"),
    say("tool_result", "r", "tool", tool_name="f"),
    say("reasoning", "three"),
    say("text_response", "t"),
    say("reasoning", "four"),
]


@pytest.mark.parametrize(
    ("policy", "contents"),
    [
        pytest.param("none", ["q", "note", "r", "t"], id="none"),
        pytest.param("keep-last", ["q", "note", "r", "t", "four"], id="keep-last"),
        pytest.param("full", ["q", "one\n\ntwo\n\nnote", "r", "three", "t", "four"], id="full-loses-nothing"),
    ],
)
def test_folding(policy, contents):
    assert [m["content"] for m in fold_and_serialize(HISTORY, "openai", policy)] == contents


def test_serialised_messages_are_new_objects():
    first, second = fold_and_serialize(HISTORY, "ollama"), fold_and_serialize(HISTORY, "ollama")
    assert first == second
    assert first is not second
    assert all(a is not b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        pytest.param("none", [False, False], id="none"),
        pytest.param("keep-last", [False, True], id="keep-last"),
        pytest.param("full", [True, True], id="full"),
    ],
)
def test_filtering_a_callers_messages(policy, kept):
    messages = [
        {"role": "user", "content": "q", "reasoning": "user's own"},
        {"role": "assistant", "content": "a", "reasoning_content": "one", "x": 1},
        {"role": "assistant", "content": "b", "reasoning": "two"},
        {"role": "assistant", "content": "c", "reasoning": ""},
    ]
    result = filter_openai_reasoning_messages(messages, policy)
    assert ["reasoning_content" in result[1], bool(result[2].get("reasoning"))] == kept
    assert result[0] == messages[0]
    assert result[1]["x"] == 1
    assert messages[1]["reasoning_content"] == "one"


def test_unknown_policy():
    with pytest.raises(ValueError, match="reasoning_replay must be one of"):
        validate_reasoning_replay("some")
