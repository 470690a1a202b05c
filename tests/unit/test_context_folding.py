"""What an earlier compaction removed is folded by the next one, and a long conversation changes its beginning rarely."""

import random

import pytest

from forge.context import ContextManager, TieredCompact
from forge.context.folding import fold
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo
from forge.core.transcript import unanswered


def say(kind, content, role="assistant", step=None, **fields):
    return Message(MessageRole(role), content, MessageMeta(MessageType(kind), step), **fields)


def start():
    return [say("system_prompt", "s" * 2000, "system"), say("user_input", "u" * 300, "user")]


def called(step, content, *names, kind="tool_result", thinking=""):
    calls = [ToolCallInfo(name, {"n": step}, f"c{step}-{i}") for i, name in enumerate(names)]
    results = [
        say(kind, content, "tool", step, tool_name=call.name, tool_call_id=call.call_id) for call in calls
    ]
    thought = [say("reasoning", thinking, step=step)] if thinking else []
    return [*thought, say("tool_call", "", step=step, tool_calls=calls), *results]


def removed(step, *names, **options):
    return called(
        step,
        "[Removed — 2000 chars to save space; call it again if you need them]" * 2,
        *names,
        kind="summary",
        **options,
    )


def test_of_several_removed_calls_the_last_stands_for_all():
    messages = [
        *start(),
        *removed(1, "read", "search", thinking="t"),
        *removed(2, "read"),
        *removed(3, "write"),
    ]
    recent = called(4, "result", "read")
    folded = fold([*messages, *recent], len(messages), "[Steps completed: read]")
    assert folded.messages[:2] == start()
    assert folded.messages[folded.end :] == recent
    call, line = folded.messages[2 : folded.end]
    assert [c.name for c in call.tool_calls] == ["write"]
    assert line.tool_call_id == call.tool_calls[0].call_id
    assert all(
        part in line.content for part in ("read ×2", "search ×1", "call them again", "[Steps completed")
    )
    assert folded.saved > 0


def test_what_was_folded_before_is_counted_on():
    messages = [*start(), *removed(1, "read"), *removed(2, "read")]
    once = fold(messages, len(messages)).messages
    again = [*once, *removed(3, "read"), *removed(4, "list")]
    line = fold(again, len(again)).messages[-1]
    assert "read ×3" in line.content
    assert line.content.count("Before this") == 1


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([*called(1, "whole", "read"), *removed(2, "read")], id="one removed, one not"),
        pytest.param(removed(1, "read"), id="a single one"),
        pytest.param([*removed(1, "read")[:-1], *called(2, "x", "read")], id="an orphan"),
        pytest.param([], id="nothing"),
        pytest.param(
            [m for n in (1, 2) for m in called(n, "[Removed]", "read", kind="summary")],
            id="less than the note",
        ),
    ],
)
def test_what_is_not_removed_is_not_folded(messages):
    messages = [*start(), *messages]
    assert fold(messages, len(messages)) == (messages, len(messages), 0)


def play(strategy, turns=120, budget=8192):
    """How often the beginning of what is sent changed, and the tokens that the server had to read anew."""
    dice = random.Random(1)
    manager = ContextManager(strategy, budget)
    messages, before = start(), []
    changes = read = 0
    for step in range(1, turns + 1):
        compacted = manager.maybe_compact(messages, step_index=step)
        if compacted is not messages:
            messages[:] = compacted
        same = 0
        while same < min(len(before), len(messages)) and before[same] == messages[same]:
            same += 1
        changes += same < len(before)
        read += sum(len(message.content) + 40 for message in messages[same:]) // 3
        assert unanswered(messages) == []
        manager.update_token_count(sum(len(message.content) + 40 for message in messages) // 3)
        before = list(messages)
        messages += called(
            step, "r" * dice.randint(200, 3000), "read", thinking="t" * dice.choice([0, 0, 300])
        )
    return changes, read


def test_a_long_conversation_changes_its_beginning_rarely():
    """By the documented phases alone it changed 81 times in these 120 turns."""
    changes, read = play(TieredCompact())
    assert changes <= 24
    deep_changes, deep_read = play(TieredCompact(phase_thresholds=(0.9, 0.5, 0.5)))
    assert deep_changes <= 18
    never = play(TieredCompact(), budget=1_000_000)
    assert never[0] == 0
    # Reading anew costs less than half of what reading everything once costs.
    assert max(read, deep_read) < 1.5 * never[1]


def test_thresholds_of_the_callers_own_hold():
    """Twice compacted, and no deeper than was asked for."""
    messages = start()
    for step in range(1, 12):
        messages += called(step, "r" * 1500, "read")
    strategy = TieredCompact(phase_thresholds=(0.5, 0.75, 0.75))
    once, phase = strategy.compact(messages, 6000)
    assert phase == 1
    again, phase = strategy.compact([*once, *called(12, "r" * 6000, "read")], 6000)
    assert phase == 1
    assert TieredCompact(compact_threshold=0.5).compact([*once, *called(12, "r" * 6000, "read")], 6000)[1] > 1
    assert len(again) == len(once) + 2
