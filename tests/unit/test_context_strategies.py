"""What each way of compacting keeps, takes and says."""

import copy

import pytest
from costs import grows_linearly
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.context.strategies import NoCompact, SlidingWindowCompact, TieredCompact, _estimate_tokens
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo


def say(type_, content, role="assistant", step=None, **fields):
    return Message(MessageRole(role), content, MessageMeta(MessageType(type_), step), **fields)


def call(step, *ids, name="f"):
    return say("tool_call", "", step=step, tool_calls=[ToolCallInfo(name, {}, i) for i in ids])


def result(step, id_, content="r", type_="tool_result", name="f"):
    return say(type_, content, "tool", step, tool_name=name, tool_call_id=id_)


START = [say("system_prompt", "s", "system"), say("user_input", "u", "user")]
RECENT = [call(9, "z"), result(9, "z", "recent" * 100)]
OLD = [
    say("reasoning", "thinking", step=1),
    call(1, "a", "b"),
    result(1, "a", "x" * 500),
    result(1, "b", "[PrerequisiteError] no", "prerequisite_nudge"),
    say("reasoning", "bad idea", step=2),
    call(2, "c"),
    result(2, "c", "[StepEnforcementError] no", "step_nudge"),
    say("text_response", "prose", step=3),
    say("retry_nudge", "call a tool", "user", step=3),
    call(3, "d"),
    result(3, "d", "y" * 50),
]
MESSAGES = [*START, *OLD, *RECENT]


def phase(number):
    limits = {1: (0.0, 9.0, 9.0), 2: (0.0, 0.0, 9.0), 3: (0.0, 0.0, 0.0)}[number]
    before = copy.deepcopy(MESSAGES)
    messages, reached = TieredCompact(keep_recent=1, phase_thresholds=limits).compact(MESSAGES, 100)
    assert (MESSAGES, reached) == (before, number)
    return messages


def orphans(messages):
    """Calls without a result and results without a call, in order."""
    calls = [c.call_id for m in messages for c in m.tool_calls or ()]
    results = [m.tool_call_id for m in messages if m.role is MessageRole.TOOL]
    return calls, results


def test_phase_1_drops_corrections_with_their_calls_and_cuts_long_results():
    messages = phase(1)
    contents = [m.content for m in messages[2:-2]]
    assert contents[0] == "thinking"
    assert contents[2].startswith("x" * 200 + "\n[Truncated — 300 chars removed")
    assert "call f again" in contents[2]
    assert contents[3:] == ["prose", "", "y" * 50]
    truncated = messages[4]
    assert (truncated.tool_name, truncated.tool_call_id) == ("f", "a")


def test_phase_2_replaces_results_by_a_line():
    messages = phase(2)
    removed = [m for m in messages if m.metadata.type is MessageType.SUMMARY]
    assert [m.metadata.original_type for m in removed] == [MessageType.TOOL_RESULT] * 2
    assert all("call f again" in m.content for m in removed)
    assert "prose" in [m.content for m in messages]


def test_phase_3_drops_thinking_and_prose_as_well():
    types = {m.metadata.type for m in phase(3)[2:-2]}
    assert types == {MessageType.TOOL_CALL, MessageType.SUMMARY}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_phase_orphans_a_call_or_a_result(number):
    messages = phase(number)
    calls, results = orphans(messages)
    assert calls == results == ["a", "d", "z"]
    assert messages[:2] == START
    assert messages[-2:] == RECENT


def test_results_that_answer_no_call_are_dropped_in_phase_2():
    messages = [*START, say("tool_result", "lonely", "tool", 1), *RECENT]
    compacted, _ = TieredCompact(keep_recent=1, phase_thresholds=(0, 0, 9)).compact(messages, 100)
    assert compacted == [*START, *RECENT]


def test_truncating_twice_changes_nothing():
    strategy = TieredCompact(keep_recent=1, phase_thresholds=(0, 9, 9))
    once, _ = strategy.compact(MESSAGES, 100)
    assert strategy.compact(once, 100)[0] == once


def test_phases_are_measured_on_the_servers_scale():
    strategy = TieredCompact(keep_recent=1)
    estimated = _estimate_tokens(MESSAGES)
    budget = estimated * 4
    _, reached = strategy._compact_with_initial_usage(MESSAGES, budget, initial_tokens=budget, step_hint="")
    assert reached > 1
    assert strategy.compact(MESSAGES, budget)[1] == 0


def test_below_the_threshold_a_copy_comes_back():
    for strategy in (NoCompact(), TieredCompact(), SlidingWindowCompact(2)):
        messages, reached = strategy.compact(MESSAGES, 1_000_000)
        assert (messages, reached) == (MESSAGES, 0)
        assert messages is not MESSAGES


def test_sliding_window_keeps_the_current_question():
    question = say("user_input", "second question", "user")
    messages = [*START, call(1, "a"), result(1, "a"), question, call(2, "b"), result(2, "b"), *RECENT]
    compacted, reached = SlidingWindowCompact(keep_recent=1, compact_threshold=0).compact(messages, 10)
    assert (compacted, reached) == ([*START, question, *RECENT], 1)


@pytest.mark.parametrize(
    ("steps", "keep_recent", "end"),
    [
        pytest.param([1, 2, 3], 2, 4, id="plain"),
        pytest.param([1, 2], 2, 2, id="nothing-eligible"),
        pytest.param([1, 2, 3, 1, 2], 2, 8, id="numbering-restarts"),
        pytest.param([1, 2, 3], 0, 8, id="keep-none"),
    ],
)
def test_eligible_end(steps, keep_recent, end):
    messages = [
        *START,
        *(m for i, step in enumerate(steps) for m in (call(step, str(i)), result(step, str(i)))),
    ]
    assert TieredCompact._find_eligible_end(messages, keep_recent) == end


def test_failed_attempts_belong_to_the_turn_they_led_to():
    messages = [
        *START,
        *(call(1, "a"), result(1, "a")),
        *(say("text_response", "prose", step=2), say("retry_nudge", "call", "user", 2)),
        *(call(3, "b"), result(3, "b")),
    ]
    assert TieredCompact._find_eligible_end(messages, 1) == 4


@pytest.mark.parametrize(
    "bad", [{"keep_recent": -1}, {"compact_threshold": -0.1}, {"phase_thresholds": (0.1, 0.2)}]
)
def test_senseless_options_are_refused(bad):
    with pytest.raises(ValueError):
        TieredCompact(**bad)


@given(
    turns=st.lists(
        st.tuples(st.sampled_from(["ok", "blocked", "retry", "mixed", "user"]), st.integers(0, 600)),
        max_size=12,
    ),
    keep_recent=st.integers(0, 3),
    number=st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_any_conversation_stays_whole(turns, keep_recent, number):
    messages = list(START)
    for step, (kind, size) in enumerate(turns):
        a, b = f"{step}a", f"{step}b"
        messages += {
            "ok": [call(step, a), result(step, a, "r" * size)],
            "blocked": [call(step, a), result(step, a, "no", "step_nudge")],
            "mixed": [call(step, a, b), result(step, a, "r" * size), result(step, b, "no", "retry_nudge")],
            "retry": [say("text_response", "t" * size, step=step), say("retry_nudge", "n", "user", step)],
            "user": [say("user_input", "q" * size, "user", step)],
        }[kind]
    limits = [9.0] * 3
    limits[:number] = [0.0] * number
    compacted, _ = TieredCompact(keep_recent, phase_thresholds=tuple(limits)).compact(messages, 100)
    calls, results = orphans(compacted)
    assert calls == results
    questions = [m for m in messages if m.metadata.type is MessageType.USER_INPUT]
    assert [m for m in compacted if m.metadata.type is MessageType.USER_INPUT] == questions


def test_many_messages_are_folded_in_time():
    messages = [*START, *(m for i in range(5000) for m in (call(i, str(i)), result(i, str(i), "r" * 300)))]
    strategy = TieredCompact(phase_thresholds=(0, 0, 0))
    # benchmarks/runner.py has the real figure; this catches a quadratic slip.
    assert grows_linearly(lambda count: strategy.compact(messages[: 4 * count], 1000), 625)
