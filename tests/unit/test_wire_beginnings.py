"""Beginnings of conversations, found again by the very objects that they are made of."""

import pytest
from msgspec import Raw, structs

from forge.core.request import Call, ChatMessage, Opaque, Protocol, Reasoning, Result, Text
from forge.wire.beginnings import SHORTEST, Beginnings


def conversation(length=SHORTEST, size=10):
    raw = Raw(b"x" * size)
    parts = (Text("x"),)
    return tuple(
        ChatMessage(role="user", parts=parts, raw=raw, protocol=Protocol.OPENAI) for _ in range(length)
    )


def remembered(beginnings, messages, state="state"):
    beginnings.remember(beginnings.find(messages), messages, lambda: state)


def test_the_longest_beginning_is_found():
    beginnings, messages = Beginnings(), conversation(20)
    for length in (10, 15, 12):
        beginnings.remember(None, messages[:length], lambda length=length: length)

    assert beginnings.find(messages).state == 15
    assert beginnings.find(messages[:14]).state == 12
    assert beginnings.find(messages[:9]) is None


def test_equal_messages_that_are_others_are_not_taken_for_the_same():
    beginnings, messages = Beginnings(), conversation()
    remembered(beginnings, messages)

    assert beginnings.find((*messages, *messages)) is not None
    assert beginnings.find(tuple(structs.replace(message) for message in messages)) is None
    assert beginnings.find((structs.replace(messages[0]), *messages[1:])) is None


def test_short_ones_are_not_kept():
    beginnings, messages = Beginnings(), conversation(SHORTEST - 1)
    remembered(beginnings, messages)
    assert beginnings.find(messages) is None


def test_a_longer_beginning_takes_the_place_of_the_shorter_one():
    beginnings, messages = Beginnings(), conversation(12)
    remembered(beginnings, messages[:10], "shorter")
    remembered(beginnings, messages, "longer")

    assert beginnings.find(messages).state == "longer"
    assert beginnings.find(messages[:11]) is None


def test_the_state_is_made_only_for_what_is_new():
    beginnings, messages = Beginnings(), conversation()
    remembered(beginnings, messages)
    beginnings.remember(beginnings.find(messages), messages, lambda: pytest.fail("made again"))


def test_the_oldest_give_way():
    beginnings, seen = Beginnings(), [conversation() for _ in range(100)]
    for messages in seen[:64]:
        remembered(beginnings, messages)
    remembered(beginnings, seen[0])
    for messages in seen[64:]:
        remembered(beginnings, messages)

    kept = [number for number, messages in enumerate(seen) if beginnings.find(messages) is not None]
    assert kept == [0, *range(37, 100)]


def test_what_is_kept_is_bounded_in_bytes():
    beginnings = Beginnings()
    first, second, huge = conversation(8, 300_000), conversation(8, 300_000), conversation(8, 1_000_000)
    for messages in (first, second, huge):
        remembered(beginnings, messages)

    assert [beginnings.find(messages) is not None for messages in (first, second, huge)] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "part",
    [
        Text("x" * 1_000_000),
        Reasoning("x" * 1_000_000),
        Call("c", "f", "x" * 1_000_000),
        Result("c", "x" * 1_000_000),
        Opaque(Raw(b"x" * 1_000_000)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_messages_that_were_written_anew_count_by_their_parts(part):
    beginnings = Beginnings()
    messages = tuple(ChatMessage(role="user", parts=(part,)) for _ in range(SHORTEST))
    remembered(beginnings, messages)
    assert beginnings.find(messages) is None
