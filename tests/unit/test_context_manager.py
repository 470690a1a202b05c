"""Budget, counts, thresholds and compaction of one conversation."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from forge.context import (
    CompactStrategy,
    ContextManager,
    ContextUsage,
    NoCompact,
    SlidingWindowCompact,
    TieredCompact,
    default_context_warning,
)
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo
from forge.core.workflow import ToolSpec
from forge.errors import ContextBudgetExceeded


def say(type_, content, role="assistant", step=None, **fields):
    return Message(MessageRole(role), content, MessageMeta(MessageType(type_), step), **fields)


def start():
    return [say("system_prompt", "s" * 40, "system"), say("user_input", "u" * 40, "user")]


def turn(step, size=400, name="f"):
    call_id = f"c{step}"
    return [
        say("tool_call", "", step=step, tool_calls=[ToolCallInfo(name, {"n": step}, call_id)]),
        say("tool_result", "r" * size, "tool", step, tool_name=name, tool_call_id=call_id),
    ]


def test_budget_none_needs_no_compact_and_no_thresholds():
    ContextManager(NoCompact(), None)
    with pytest.raises(ValueError, match="budget_tokens=None requires NoCompact"):
        ContextManager(TieredCompact(), None)
    with pytest.raises(ValueError, match="budget_tokens=None requires NoCompact"):
        ContextManager(NoCompact(), None, context_thresholds=[0.5])
    with pytest.raises(ValueError, match="budget_tokens=None requires NoCompact"):
        ContextManager(NoCompact(), None, on_context_threshold=lambda *_: None)
    with pytest.raises(ValueError, match="negative"):
        ContextManager(NoCompact(), 100, context_thresholds=[-1])


def test_an_observed_count_is_taken_and_zero_counts():
    manager = ContextManager(NoCompact(), 1000)
    assert manager.estimate_tokens(start()) == 20
    manager.update_token_count(0)
    assert manager.estimate_tokens(start()) == 0
    manager.update_token_count(777)
    assert manager.estimate_tokens(start()) == 777
    manager.update_token_count(-1)
    assert (manager.usage, manager.estimate_tokens(start())) == (None, 20)


def test_what_was_appended_since_the_count_is_added():
    manager = ContextManager(TieredCompact(), 100_000)
    messages = start()
    manager.maybe_compact(messages)
    manager.update_token_count(100)
    messages += turn(1, size=40_000)
    assert manager.estimate_tokens(messages) > 10_000


def test_a_count_does_not_outlive_its_conversation():
    events = []
    manager = ContextManager(TieredCompact(), 1000, on_compact=events.append)
    messages = [*start(), *turn(1)]
    manager.maybe_compact(messages)
    manager.update_token_count(900)
    fresh = [say("system_prompt", "other", "system"), say("user_input", "question", "user")]
    assert manager.maybe_compact(fresh) is fresh
    assert events == []


def test_arguments_and_tool_schemas_count():
    manager = ContextManager(NoCompact(), 1000)
    call = say("tool_call", "", tool_calls=[ToolCallInfo("f", {"text": "x" * 400}, "c")])
    assert manager.estimate_tokens([call]) >= 100
    before = manager.estimate_tokens(start())
    manager.count_tools([ToolSpec.from_json_schema("f", "d" * 400, {"type": "object"})])
    assert manager.estimate_tokens(start()) >= before + 100


def test_estimates_follow_the_scale_that_counts_showed():
    """After compaction the estimate must not fall back to another scale than the server's."""
    manager = ContextManager(SlidingWindowCompact(keep_recent=1, compact_threshold=0.7), 1200)
    messages = start()
    for step in range(1, 5):
        messages += turn(step)
    estimated = manager.estimate_tokens(messages)
    manager.maybe_compact(messages)
    manager.update_token_count(estimated * 2)
    compacted = manager.maybe_compact(messages)
    assert compacted is not messages
    assert manager.estimate_tokens(compacted) == pytest.approx(
        2 * ContextManager(NoCompact(), 1).estimate_tokens(compacted), abs=2
    )


def test_below_the_threshold_the_same_list_comes_back():
    manager = ContextManager(
        TieredCompact(), 10_000, on_compact=lambda _: pytest.fail("nothing was compacted")
    )
    messages = [*start(), *turn(1)]
    assert manager.maybe_compact(messages) is messages


def test_a_compaction_is_reported_and_counts_anew():
    events = []
    manager = ContextManager(TieredCompact(keep_recent=1), 1000, on_compact=events.append)
    messages = [*start(), *(m for step in range(1, 9) for m in turn(step))]
    manager.update_token_count(900)
    compacted = manager.maybe_compact(messages, step_index=8)
    (event,) = events
    assert (event.step_index, event.tokens_before, event.budget_tokens) == (8, 900, 1000)
    assert (event.messages_before, event.messages_after) == (len(messages), len(compacted))
    assert event.tokens_after < 900
    assert manager.usage is None


def test_nothing_eligible_reports_nothing():
    events = []
    manager = ContextManager(TieredCompact(keep_recent=5), 1000, on_compact=events.append)
    messages = [*start(), *turn(1)]
    manager.update_token_count(900)
    assert manager.maybe_compact(messages) == messages
    assert events == []


def test_what_cannot_fit_is_a_typed_error():
    manager = ContextManager(TieredCompact(keep_recent=2), 100)
    with pytest.raises(ContextBudgetExceeded) as caught:
        manager.maybe_compact([*start(), *(m for step in range(1, 4) for m in turn(step, size=1900))])
    assert caught.value.budget_tokens == 100
    assert caught.value.estimated_tokens > 900


def test_an_oversize_new_result_is_cut_to_what_fits():
    manager = ContextManager(TieredCompact(keep_recent=2), 1000)
    compacted = manager.maybe_compact([*start(), *turn(1, size=40_000)])
    result = compacted[-1]
    assert (result.tool_call_id, "[Truncated — " in result.content) == ("c1", True)
    assert 600 < manager.estimate_tokens(compacted) <= 1000


def test_a_guess_about_tools_does_not_end_a_run():
    manager = ContextManager(TieredCompact(keep_recent=2), 100)
    manager.count_tools([ToolSpec.from_json_schema("f", "d" * 4000, {"type": "object"})])
    messages = [*start(), *turn(1, size=40)]
    assert manager.maybe_compact(messages) == messages


@pytest.mark.parametrize("budget", [None, 0, -5])
def test_no_budget_no_compaction(budget):
    manager = ContextManager(NoCompact(), budget)
    messages = start()
    assert manager.maybe_compact(messages) is messages


def test_a_custom_strategy_needs_only_compact():
    class Half(CompactStrategy):
        def compact(self, messages, budget_tokens, *, step_hint=""):
            return messages[: len(messages) // 2], 7

    events = []
    manager = ContextManager(Half(), 1000, on_compact=events.append)
    assert len(manager.maybe_compact(start(), step_hint="x")) == 1
    assert events[0].phase_reached == 7


def test_a_strategy_that_replaced_the_hook_gets_the_observed_figure():
    seen = []

    class Probe(TieredCompact):
        def _compact_with_initial_usage(self, messages, budget_tokens, *, initial_tokens, step_hint=""):
            seen.append(initial_tokens)
            return list(messages), 0

    manager = ContextManager(Probe(), 1000)
    manager.maybe_compact(start())
    manager.update_token_count(222)
    manager.maybe_compact([say("system_prompt", "another", "system")])
    assert seen == [20, 222]


# -- thresholds ---------------------------------------------------------------------------------------------


def test_thresholds_fire_once_and_a_jump_fires_once():
    calls = []
    manager = ContextManager(
        NoCompact(),
        1000,
        context_thresholds=[0.5, 0.8, 0.65],
        on_context_threshold=lambda *a: calls.append(a) or "w",
    )
    fired = []
    for tokens in (100, 550, 600, 900, 950, 100, 900):
        manager.update_token_count(tokens)
        fired.append(manager.check_thresholds(start()))
    assert fired == [None, "w", None, "w", None, None, "w"]
    assert calls[0] == (550, 1000, 0.55)


def test_without_budget_or_callback_nothing_fires():
    assert ContextManager(NoCompact(), None).check_thresholds(start()) is None
    assert ContextManager(NoCompact(), 0, context_thresholds=[0.1]).check_thresholds(start()) is None


@pytest.mark.parametrize(
    ("tokens", "parts"),
    [
        pytest.param(500, ["Context usage", "50%", "500", "1000"], id="half"),
        pytest.param(650, ["65%", "filling up"], id="filling"),
        pytest.param(800, ["80%", "nearly full"], id="full"),
    ],
)
def test_default_warning(tokens, parts):
    text = default_context_warning(tokens, 1000, tokens / 1000)
    assert [part for part in parts if part not in text] == []


# -- observations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"observed_at": datetime(2026, 1, 1)}, "UTC-aware", id="naive"),  # noqa: DTZ001
        pytest.param(
            {"observed_at": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "UTC-aware", id="zone"
        ),
        pytest.param({"current_usage_tokens": -1}, "negative", id="negative"),
        pytest.param({"context_window_tokens": -1}, "negative", id="negative-window"),
    ],
)
def test_usage_is_checked(fields, text):
    good = {"current_usage_tokens": 1, "observed_at": datetime(2026, 1, 1, tzinfo=UTC)}
    assert ContextUsage(**good).current_usage_tokens == 1
    with pytest.raises(ValueError, match=text):
        ContextUsage(**(good | fields))


def test_published_usage_is_a_second_slot():
    manager = ContextManager(NoCompact(), None)
    usage = ContextUsage(5, datetime(2026, 1, 1, tzinfo=UTC))
    manager.record_published_usage(usage)
    assert (manager.published_usage, manager.usage) == (usage, None)
    manager.clear_published_usage()
    manager.record_usage(usage)
    assert (manager.published_usage, manager.usage) == (None, usage)
