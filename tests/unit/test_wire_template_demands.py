"""Conversations that a strict chat template takes, without a change to what was before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.clients.llama_props import read_props
from forge.core.capabilities import Capabilities
from forge.core.request import ChatMessage
from forge.wire.anthropic import ThinkingMeans, as_openai
from forge.wire.anthropic import decode_request as decode_anthropic
from forge.wire.openai import decode_request, encode_messages
from forge.wire.template_demands import as_demanded

TURNS = Capabilities(takes_turns=True)
STRICT = Capabilities(strict_ids=True)
SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "go"}
SAID = {"role": "assistant", "content": "done"}


def calls(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


CALLS, RESULT = calls("a"), result("a")
OTHER = [USER, SAID, CALLS, RESULT, SYSTEM]


def read(messages: list[dict[str, Any]]) -> tuple[ChatMessage, ...]:
    return decode_request(json.dumps({"messages": messages}).encode()).messages


def sent(messages: list[dict[str, Any]], able: Capabilities) -> list[dict[str, Any]]:
    return [json.loads(bytes(raw)) for raw in encode_messages(as_demanded(read(messages), able))]


def mistral_takes(messages: list[dict[str, Any]]) -> bool:
    """The condition of Mistral's templates: the user's and the assistant's messages alternate, calls and results aside."""
    spoken = messages[1 if messages and messages[0]["role"] == "system" else 0 :]
    roles = [m["role"] for m in spoken if m["role"] != "tool" and not m.get("tool_calls")]
    return all((role == "user") == (number % 2 == 0) for number, role in enumerate(roles))


def test_a_template_without_demands_gets_the_same_object() -> None:
    messages = read([USER, USER, CALLS, USER])
    assert as_demanded(messages, Capabilities()) is messages


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([SYSTEM, USER, SAID, USER], ["system", "user", "assistant", "user"], id="in-turn"),
        pytest.param(
            [USER, CALLS, RESULT, SAID, USER], ["user", "assistant", "tool", "assistant", "user"], id="calls"
        ),
        pytest.param([USER, USER], ["user", "assistant", "user"], id="twice"),
        pytest.param(
            [USER, CALLS, RESULT, USER],
            ["user", "assistant", "tool", "assistant", "user"],
            id="word-after-a-result",
        ),
        pytest.param([SAID], ["user", "assistant"], id="assistant-first"),
        pytest.param([USER, SYSTEM], ["user", "assistant", "user"], id="late-system"),
    ],
)
def test_sides_take_turns(messages: list[dict[str, Any]], expected: list[str]) -> None:
    shaped = sent(messages, TURNS)
    assert [m["role"] for m in shaped] == expected
    assert mistral_takes(shaped)
    assert [m for m in shaped if m in messages] == [m for m in messages if m in shaped]


@given(st.lists(st.sampled_from(OTHER), max_size=12), st.integers(0, 12))
def test_whatever_comes_takes_turns_and_only_grows(history: list[dict[str, Any]], cut: int) -> None:
    shaped, before = sent(history, TURNS), sent(history[:cut], TURNS)
    assert mistral_takes(shaped)
    assert shaped[: len(before)] == before


def test_ids_become_nine_letters_and_digits_and_stay_pairs() -> None:
    ids = ["call_1", "call_2", "abcDEF123", "9c33a4d1-2", "é"]
    shaped = sent([message for each in ids for message in (calls(each), result(each))], STRICT)
    made = [m["tool_calls"][0]["id"] for m in shaped if "tool_calls" in m]
    answered = [m["tool_call_id"] for m in shaped if m["role"] == "tool"]

    assert made == answered
    assert len(set(made)) == len(ids)
    assert all(len(each) == 9 and each.isascii() and each.isalnum() for each in made)
    assert made[2] == "abcDEF123"
    assert made == [m["tool_calls"][0]["id"] for m in sent([calls(each) for each in ids], STRICT)]


@pytest.mark.parametrize(
    ("template", "turns", "strict"),
    [
        pytest.param("{{ messages }}", False, False, id="none"),
        pytest.param("{# roles must alternate #}{{ messages }}", False, False, id="a-comment"),
        pytest.param(
            "{{ raise_exception('After the optional system message, conversation roles must alternate "
            "user/assistant/user/assistant/...') }}",
            True,
            False,
            id="turns",
        ),
        pytest.param(
            '{{ raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}',
            False,
            True,
            id="ids",
        ),
        pytest.param(None, False, False, id="no-template"),
    ],
)
def test_a_template_says_what_it_refuses(template: object, turns: bool, strict: bool) -> None:
    props = read_props({"default_generation_settings": {"n_ctx": 1}, "chat_template": template})
    assert props is not None
    assert (props.takes_turns, props.strict_ids) == (turns, strict)


def test_a_word_beside_results_is_a_turn_of_the_users() -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    body = {
        "max_tokens": 9,
        "messages": [
            USER,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [block, {"type": "text", "text": "go on"}]},
            {"role": "user", "content": "at once"},
        ],
    }
    messages = as_openai(decode_anthropic(json.dumps(body).encode()), ThinkingMeans.LLAMA).request.messages

    shaped = [json.loads(bytes(raw)) for raw in encode_messages(as_demanded(messages, TURNS))]

    plain = [json.loads(bytes(raw)) for raw in encode_messages(messages)]
    assert [message for message in shaped if message in plain] == plain
    assert mistral_takes(shaped)
