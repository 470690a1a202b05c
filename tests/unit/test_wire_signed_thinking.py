import json

import pytest
from msgspec import Raw

from forge.wire.anthropic import Defaults, encode_request
from forge.wire.openai import decode_request
from forge.wire.signed_thinking import lost_its_thoughts

THINK = {"type": "enabled", "budget_tokens": 1024}
CALL = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HISTORY = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "let me see", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "t1", "content": "r"},
]


def sent(own_thinking, **fields):
    body = {"model": "m", "messages": HISTORY[:1], **fields}
    return json.loads(
        encode_request(decode_request(json.dumps(body).encode()), Defaults(thinking=own_thinking))
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"temperature": 0.2, "top_p": 0.5, "top_k": 4}, {}),
        ({"temperature": 1, "top_p": 0.97}, {"temperature": 1, "top_p": 0.97}),
    ],
)
def test_a_clients_own_thinking_wins_over_sampling(given, kept):
    body = sent(THINK, **given)

    assert body["thinking"] == THINK
    assert {name: body[name] for name in given if name in body} == kept


def test_what_a_caller_asks_for_is_left_to_the_caller():
    body = sent(None, thinking=THINK, temperature=0.2, max_tokens=9)

    assert (body["thinking"], body["temperature"], body["max_tokens"]) == (THINK, 0.2, 9)


@pytest.mark.parametrize(("limit", "thinks"), [(1024, False), (1025, True)])
def test_a_clients_own_thinking_must_fit_into_the_answer(limit, thinks):
    assert ("thinking" in sent(THINK, max_tokens=limit)) is thinks


def turn(role, *kinds):
    return {"role": role, "content": [{"type": kind} for kind in kinds]}


RESULTS = turn("user", "tool_result")


@pytest.mark.parametrize(
    ("thinking", "turns", "lost"),
    [
        pytest.param(THINK, [turn("assistant", "tool_use"), RESULTS], True, id="calls alone"),
        pytest.param(THINK, [turn("assistant", "text", "tool_use"), RESULTS], True, id="text first"),
        pytest.param(THINK, [turn("assistant", "thinking", "tool_use"), RESULTS], False, id="thinking first"),
        pytest.param(THINK, [turn("assistant", "redacted_thinking", "tool_use"), RESULTS], False, id="redacted"),
        pytest.param(
            THINK, [turn("assistant", "tool_use"), RESULTS, turn("user", "text")], False, id="a new question"
        ),
        pytest.param(THINK, [turn("user", "text")], False, id="the first question"),
        pytest.param({"type": "adaptive"}, [turn("assistant", "tool_use"), RESULTS], False, id="adaptive"),
        pytest.param(None, [turn("assistant", "tool_use"), RESULTS], False, id="no thinking"),
        pytest.param(THINK, [Raw(b"{}"), RESULTS], False, id="the caller's own bytes"),
    ],
)  # fmt: skip
def test_when_calls_came_without_their_thoughts(thinking, turns, lost):
    assert lost_its_thoughts(thinking, turns) is lost


def test_a_history_without_its_thoughts_goes_on_without_thinking():
    assert "thinking" not in sent(THINK, messages=HISTORY)
    assert sent(THINK)["thinking"] == THINK
