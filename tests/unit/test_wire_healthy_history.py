"""Histories that servers and templates trip over, put right: the same way each time, and never what was before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from forge.core.request import ChatMessage
from forge.wire import anthropic
from forge.wire.healthy_history import NO_RESULT, healthy
from forge.wire.openai import decode_request, encode_messages


def call(call_id: str | None, name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calls(*made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(made), **more}


def result(call_id: str | None, content: str = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


USER = {"role": "user", "content": "go"}
CUSTOM = {"type": "custom", "id": "z", "custom": {"name": "g", "input": "("}}
SAID = {"role": "assistant", "content": "done"}


def read(messages: list[dict[str, Any]]) -> tuple[ChatMessage, ...]:
    return decode_request(json.dumps({"messages": messages}).encode()).messages


def mended(*messages: dict[str, Any]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    health = healthy(read(list(messages)))
    return [json.loads(bytes(raw)) for raw in encode_messages(health.messages)], health.changes


def none(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": NO_RESULT, "name": name}


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="empty"),
        pytest.param([USER, SAID, USER], id="no-calls"),
        pytest.param([USER, calls(call("a")), result("a"), SAID], id="one-call"),
        pytest.param(
            [USER, calls(call("a"), call("b")), result("b"), result("a"), SAID], id="results-in-any-order"
        ),
        pytest.param([USER, calls(call("a"))], id="a-call-at-the-end"),
        pytest.param([USER, calls(call("a"), call("b")), result("a")], id="a-result-still-to-come"),
        pytest.param(
            [USER, calls(call("a", arguments='{"x": [1,  2]}'), x=1), result("a", name="f")], id="spacing"
        ),
        pytest.param([{"role": "developer", "content": "x"}, USER, USER], id="roles"),
        pytest.param(
            [USER, calls(CUSTOM), SAID],
            id="other",
        ),
    ],
)
def test_a_history_without_faults_is_the_same_object(messages: list[dict[str, Any]]) -> None:
    given_messages = read(messages)
    health = healthy(given_messages)
    assert health.messages is given_messages
    assert health.changes == ()


@pytest.mark.parametrize(
    ("messages", "expected", "changes"),
    [
        pytest.param(
            [calls(call("a", arguments="{'x': 1,}")), result("a")],
            [calls(call("a", arguments='{"x":1}')), result("a")],
            ("arguments_repaired",),
            id="arguments-repaired",
        ),
        pytest.param(
            [calls(call("a", arguments="rm -rf")), result("a")],
            [calls(call("a", arguments='{"unreadable_arguments":"rm -rf"}')), result("a")],
            ("arguments_quoted",),
            id="arguments-quoted",
        ),
        pytest.param(
            [calls(call("a", "read<|channel|>commentary")), result("a", name="read<|channel|>commentary")],
            [calls(call("a", "read")), result("a", name="read")],
            ("name_cleaned",),
            id="name-cleaned",
        ),
        pytest.param(
            [calls(call("a"), x=1), result("a"), calls(call("a")), result("a", "two")],
            [calls(call("a"), x=1), result("a"), calls(call("a_2")), result("a_2", "two")],
            ("id_repeated",),
            id="id-repeated-later",
        ),
        pytest.param(
            [calls(call("a", "f"), call("a", "g")), result("a", "one"), result("a", "two")],
            [calls(call("a", "f"), call("a_2", "g")), result("a", "one"), result("a_2", "two")],
            ("id_repeated",),
            id="id-repeated-in-one-answer",
        ),
        pytest.param(
            [calls(call("abcDEF123")), result("abcDEF123"), calls(call("abcDEF123")), result("abcDEF123")],
            [calls(call("abcDEF123")), result("abcDEF123"), calls(call("abcDEF122")), result("abcDEF122")],
            ("id_repeated",),
            id="ids-that-mistral-takes-stay-such",
        ),
        pytest.param(
            [calls(call(None), call("")), result(None, "one"), result("", "two")],
            [
                calls(call("call00001"), call("call00002")),
                result("call00001", "one"),
                result("call00002", "two"),
            ],
            ("id_missing",),
            id="ids-missing",
        ),
        pytest.param(
            [calls(call("a")), USER],
            [calls(call("a")), none("a"), USER],
            ("result_missing",),
            id="result-missing",
        ),
        pytest.param(
            [calls(call("a"), call("b", "g")), result("a"), SAID],
            [calls(call("a"), call("b", "g")), result("a"), none("b", "g"), SAID],
            ("result_missing",),
            id="one-of-two-results-missing",
        ),
        pytest.param(
            [calls(call("a")), calls(call("b")), result("b")],
            [calls(call("a")), none("a"), calls(call("b")), result("b")],
            ("result_missing",),
            id="calls-after-calls",
        ),
        pytest.param(
            [calls(call("a")), result("other", "one")],
            [calls(call("a")), result("a", "one")],
            ("result_paired",),
            id="id-written-anew",
        ),
        pytest.param(
            [calls(call("a")), result("a"), result("a"), SAID],
            [calls(call("a")), result("a"), SAID],
            ("result_repeated",),
            id="the-same-result-twice",
        ),
    ],
)
def test_what_is_put_right(
    messages: list[dict[str, Any]], expected: list[dict[str, Any]], changes: tuple[str, ...]
) -> None:
    assert mended(USER, *messages) == ([USER, *expected], changes)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="first"),
        pytest.param([SAID], id="after-text"),
        pytest.param([calls(call("a")), result("a")], id="after-its-end"),
        pytest.param([calls(call("a"), call("b")), result("a"), result("b")], id="after-two"),
    ],
)
def test_a_result_without_a_call_is_told_by_the_user(before: list[dict[str, Any]]) -> None:
    messages, changes = mended(USER, *before, result("lost", "it was 42", name="ask"))
    assert messages[:-1] == [USER, *before]
    assert messages[-1]["role"] == "user"
    assert "it was 42" in messages[-1]["content"]
    assert "ask" in messages[-1]["content"]
    assert changes == ("result_orphaned",)


def test_a_result_without_a_call_does_not_come_between_calls_and_results() -> None:
    messages, _ = mended(USER, calls(call("a"), call("b")), result("lost", "x"))
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "tool", "user"]


def test_results_of_other_kinds_of_calls_are_none_of_our_business() -> None:
    both = calls(CUSTOM, call("a"))
    messages = [USER, both, result("a"), result("z"), calls(CUSTOM), result("z"), SAID]
    assert mended(*messages) == (messages, ())


# -- the Messages API ----------------------------------------------------------------------------------------


def blocks(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def use(call_id: str, name: str = "f") -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": {},
        "cache_control": {"type": "ephemeral"},
    }


def gave(call_id: str, content: Any = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


TEXT = {"type": "text", "text": "and?"}
MISSING = {**gave("a", NO_RESULT), "is_error": True}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [blocks("assistant", use("a"), use("b")), blocks("user", gave("b"), TEXT)],
            [blocks("assistant", use("a"), use("b")), blocks("user", gave("b"), MISSING, TEXT)],
            id="missing",
        ),
        pytest.param(
            [blocks("assistant", use("a"), use("a")), blocks("user", gave("a"), gave("a", "two"))],
            [blocks("assistant", use("a"), use("a_2")), blocks("user", gave("a"), gave("a_2", "two"))],
            id="repeated",
        ),
        pytest.param(
            [blocks("assistant", use("a", "f<|x|>")), blocks("user", gave("a"))],
            [blocks("assistant", use("a", "f")), blocks("user", gave("a"))],
            id="name",
        ),
        pytest.param(
            [blocks("assistant", use("a")), blocks("user", gave("z", [TEXT]), gave("a"))],
            [
                blocks("assistant", use("a")),
                blocks("user", gave("a"), {"type": "text", "text": "Result from an earlier call:\nand?"}),
            ],
            id="orphaned-beside-its-sibling",
        ),
    ],
)
def test_messages_of_anthropics_keep_all_else(messages: list[Any], expected: list[Any]) -> None:
    if messages[1]["content"][0]["tool_use_id"] == "z":
        # A second open call, so that the lost result cannot be the other's.
        messages[0]["content"].append(use("b"))
        expected[0]["content"].append(use("b"))
    body = json.dumps({"messages": [USER, *messages], "max_tokens": 1}).encode()
    health = healthy(anthropic.decode_request(body).messages)
    assert json.loads(anthropic.own_messages(health.messages)) == [USER, *expected]
    assert health.changes


# -- properties ----------------------------------------------------------------------------------------------

IDS = st.sampled_from(["a", "b", "c", "", None, "abcDEF123"])
NAMES = st.sampled_from(["f", "g", "f<|call|>", "<tool_call>f"])
ARGUMENTS = st.sampled_from(["{}", '{"x": 1}', "{'x': 1}", "{broken", "", "null", "[1]", '{"x": "\\ud83d"}'])
MESSAGE = st.one_of(
    st.just(USER),
    st.just(SAID),
    st.builds(
        lambda made: calls(*made), st.lists(st.builds(call, IDS, NAMES, ARGUMENTS), min_size=1, max_size=3)
    ),
    st.builds(result, IDS, st.sampled_from(["ok", "two"])),
    st.builds(lambda i: result(i, name="f"), IDS),
)


def wire(messages: list[dict[str, Any]]) -> list[bytes]:
    return [bytes(raw) for raw in encode_messages(healthy(read(messages)).messages)]


@given(st.lists(MESSAGE, max_size=12), st.integers(0, 12))
def test_a_longer_history_never_changes_what_was_before(history: list[dict[str, Any]], cut: int) -> None:
    before, whole = wire(history[:cut]), wire(history)
    assert whole[: len(before)] == before


@given(st.lists(MESSAGE, max_size=12))
def test_what_comes_out_is_healthy(history: list[dict[str, Any]]) -> None:
    sent = [json.loads(data) for data in wire([*history, USER])]
    seen: set[str] = set()
    waiting: list[str] = []
    for message in sent:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        for made in message.get("tool_calls") or []:
            assert made["id"]
            assert made["id"] not in seen
            assert made["function"]["name"] in ("f", "g")
            json.loads(made["function"]["arguments"])
            seen.add(made["id"])
            waiting.append(made["id"])
    assert waiting == []


@given(st.lists(MESSAGE, max_size=12))
def test_putting_right_is_done_once(history: list[dict[str, Any]]) -> None:
    once = wire(history)
    again = wire([json.loads(data) for data in once])
    assert [json.loads(data) for data in again] == [json.loads(data) for data in once]


# -- beginnings that were seen before -------------------------------------------------------------------------


@given(st.lists(MESSAGE, max_size=30), st.lists(MESSAGE, max_size=5))
def test_a_history_that_grows_is_put_right_as_one_that_was_never_seen(
    history: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    messages, branch = read(history), read(other)
    for given_messages in [
        *(messages[:n] for n in range(len(messages) + 1)),
        messages[:20] + branch,
        messages,
    ]:
        unseen = tuple(structs.replace(message) for message in given_messages)
        assert healthy(given_messages) == healthy(unseen)


def test_what_was_put_right_before_is_not_done_again() -> None:
    messages = read([USER, calls(call("a", arguments="{'x': 1}")), result("a"), *[SAID, USER] * 5])

    first, second = healthy(messages[:-1]), healthy(messages)

    assert second.messages[1] is first.messages[1]
    assert second.changes == first.changes == ("arguments_repaired",)
