"""Counts of a server's tokenizer in place of guesses."""

import pytest

from forge.context import ContextManager, TieredCompact
from forge.context.token_counts import LONG_TEXT, MAX_QUESTIONS, MAX_REMEMBERED, TokenCounts
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType


def say(text):
    return Message(MessageRole.USER, text, MessageMeta(MessageType.USER_INPUT))


LONG = "x" * 4000


def test_a_count_takes_the_place_of_the_guess():
    counts = TokenCounts()
    messages = [say("short"), say(LONG)]
    assert counts.split(messages) == (0, 1001)
    counts.learn(LONG, 77)
    assert counts.split(messages) == (77, 1)


def test_long_texts_are_asked_for_once_the_longest_first():
    counts = TokenCounts()
    texts = ["x" * (LONG_TEXT + n) for n in range(MAX_QUESTIONS + 5)]
    messages = [say(text) for text in [*texts, "short"]]
    asked = counts.unknown(messages)
    assert asked == sorted(texts, key=len, reverse=True)[:MAX_QUESTIONS]
    for text in asked:
        counts.learn(text, 1)
    assert sorted(counts.unknown(messages), key=len) == texts[:5]


def test_what_is_remembered_is_bounded():
    counts = TokenCounts()
    for n in range(MAX_REMEMBERED + 10):
        counts.learn(str(n), n)
    assert len(counts._tokens) == MAX_REMEMBERED


def test_only_what_matters_is_asked_for():
    manager = ContextManager(TieredCompact(), 10_000)
    messages = [say("system"), say(LONG)]
    assert manager.uncounted(messages) == []
    manager = ContextManager(TieredCompact(), 1500)
    assert manager.uncounted(messages) == [LONG]
    manager.maybe_compact(messages)
    manager.update_token_count(1000)
    # The server has counted these; only what was added since is a guess.
    assert manager.uncounted([*messages, say("y" * 500)]) == ["y" * 500]


def test_a_count_decides_about_compaction():
    """Dense text has many more tokens than its length says."""
    messages = [say("system"), say(LONG), *(say("short") for _ in range(3))]
    manager = ContextManager(TieredCompact(), 2000)
    assert manager.estimate_tokens(messages) == pytest.approx(1000, abs=10)
    manager.learn_tokens(LONG, 1900)
    assert manager.estimate_tokens(messages) == pytest.approx(1900, abs=10)
