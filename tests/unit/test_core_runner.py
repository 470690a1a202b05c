"""Whole runs: order, budgets, outcomes of tools, endings."""

import asyncio
import json
import threading

import pytest

from forge.context import ContextManager, NoCompact, TieredCompact
from forge.core.calls import TextResponse, ToolCall
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType
from forge.core.runner import WorkflowRunner
from forge.core.workflow import Workflow
from forge.errors import (
    ContextBudgetExceeded,
    MaxIterationsError,
    PrerequisiteError,
    StepEnforcementError,
    ToolCallError,
    ToolExecutionError,
    ToolResolutionError,
    ToolTimeoutError,
    WorkflowCancelledError,
)
from forge.tools import respond_tool, tool

pytestmark = pytest.mark.anyio


def call(name, reasoning=None, **args):
    return ToolCall(name, args, reasoning=reasoning)


@tool
def fetch(key: str = "") -> str:
    """Fetch."""
    return f"got {key}"


@tool
async def submit(text: str = "") -> str | None:
    """Submit."""
    return text or None


def flow(*tools, required=(), terminal="submit", **options):
    return Workflow.from_tools(
        [*(tools or (fetch,)), submit], terminal_tool=terminal, required_steps=required, **options
    )


def runner(client, **options):
    return WorkflowRunner(client, ContextManager(NoCompact(), None), **options)


def kinds(messages):
    return [m.metadata.type.value for m in messages]


async def run(client, workflow=None, *, shown=None, **options):
    on_message = None if shown is None else shown.append
    return await runner(client, on_message=on_message, **options).run(workflow or flow(), "task")


# -- the course of a run ------------------------------------------------------------------------------------


async def test_a_clean_run(scripted):
    shown = []
    client = scripted([call("fetch", key="k")], [call("submit", text="done")])
    assert await run(client, shown=shown) == "done"
    assert kinds(shown) == [
        "system_prompt",
        "user_input",
        "tool_call",
        "tool_result",
        "tool_call",
        "tool_result",
    ]
    assert [m.metadata.step_index for m in shown] == [None, None, 1, 1, 2, 2]
    assert [m.content for m in shown if m.role is MessageRole.TOOL] == ["got k", "done"]
    assert [c.call_id for m in shown for c in m.tool_calls or ()] == ["call_000000000", "call_000000001"]


async def test_a_terminal_tool_may_return_none(scripted):
    client = scripted([call("submit")])
    assert await run(client) is None
    assert len(client.sent) == 1


async def test_the_respond_tool(scripted):
    workflow = Workflow.from_tools([fetch, respond_tool()], terminal_tool="respond")
    assert await run(scripted([call("respond", message="hi")]), workflow) == "hi"


async def test_run_detailed_and_its_report(scripted):
    client = scripted(
        (TextResponse("prose"), 50), ([call("fetch", key=3)], 60), ([call("submit", text="x")], 70)
    )
    result = await runner(client).run_detailed(flow(), "task")
    assert (result.value, result.completed_steps) == ("x", ["fetch", "submit"])
    report = result.report
    assert [c.verdict for c in report.model_calls] == ["retry", "accepted", "accepted"]
    assert [(t.tool, t.outcome, t.step) for t in report.tool_runs] == [
        ("fetch", "ok", 1),
        ("submit", "ok", 2),
    ]
    assert (report.prompt_tokens, len(report.fixes), report.seconds > 0) == (180, 1, True)
    assert 0 < report.seconds_of_step(1) <= report.seconds


async def test_failed_attempts_are_shown_at_once_and_share_their_turns_number(scripted):
    shown, seen = [], []
    client = scripted(
        TextResponse("prose"), lambda _: seen.append(kinds(shown)) or [call("submit", text="x")]
    )
    await run(client, shown=shown)
    assert seen == [["system_prompt", "user_input", "text_response", "retry_nudge"]]
    assert [m.metadata.step_index for m in shown[2:]] == [1, 1, 1, 1]


async def test_thinking_on_any_call_is_kept(scripted):
    shown = []
    client = scripted([call("fetch", "one"), call("fetch", "two", key="b")], [call("submit", text="x")])
    await run(client, shown=shown)
    assert [m.content for m in shown if m.metadata.type is MessageType.REASONING] == ["one\n\ntwo"]


async def test_text_beside_a_rescued_call_stays_in_the_history(scripted):
    shown = []
    text = 'Let me see.\n<tool_call>{"name": "submit", "arguments": {"text": "x"}}</tool_call>'
    await run(scripted(TextResponse(text)), shown=shown)
    assert next(m.content for m in shown if m.tool_calls) == "Let me see."


# -- arguments and results ----------------------------------------------------------------------------------


async def test_arguments_are_checked_and_converted_before_a_tool_runs(scripted):
    got = []

    @tool
    def typed(n: int) -> str:
        got.append(n)
        return "ok"

    client = scripted([call("typed", n="lots", extra=1)], [call("typed", n="5")], [call("submit", text="x")])
    shown = []
    await run(client, flow(typed), shown=shown)
    assert got == [5]
    correction = next(m.content for m in shown if m.metadata.type is MessageType.RETRY_NUDGE)
    assert all(part in correction for part in ["[ToolArgValidationError]", '"n"', "extra"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("東京", "東京", id="text-as-it-is"),
        pytest.param({"q": "東京"}, '{"q": "東京"}', id="unescaped"),
        pytest.param(None, "null", id="none"),
        pytest.param({1, 2}, "[1, 2]", id="set"),
        pytest.param(b"\xff\xfe", '"//4="', id="bytes"),
    ],
)
async def test_results_of_any_type_reach_the_model(scripted, value, text):
    @tool
    def make() -> object:
        return value

    shown = []
    await run(scripted([call("make")], [call("submit", text="x")]), flow(make), shown=shown)
    assert shown[3].content == text


# -- good and bad calls in one answer -----------------------------------------------------------------------


async def test_innocent_calls_of_a_rejected_batch_run(scripted):
    client = scripted([call("nope"), call("fetch", key="k")], [call("submit", text="x")])
    shown = []
    assert await run(client, shown=shown) == "x"
    assert kinds(shown)[2:5] == ["tool_call", "retry_nudge", "tool_result"]
    assert [c["function"]["name"] for c in client.sent[1][2]["tool_calls"]] == ["nope", "fetch"]
    assert shown[4].content == "got k"


async def test_the_end_waits_for_a_rejected_sibling(scripted):
    client = scripted([call("nope"), call("submit", text="early")], [call("submit", text="x")])
    assert await run(client) == "x"


async def test_a_batch_may_hold_the_required_step_and_the_end(scripted):
    client = scripted([call("fetch"), call("submit", text="x")])
    assert await run(client, flow(required=["fetch"])) == "x"
    assert len(client.sent) == 1


async def test_a_blocked_end_does_not_block_its_siblings(scripted):
    other = tool(name="other")(lambda: "o")
    client = scripted([call("other"), call("submit")], [call("fetch"), call("submit", text="x")])
    shown = []
    assert await run(client, flow(fetch, other, required=["fetch"]), shown=shown) == "x"
    assert kinds(shown)[2:5] == ["tool_call", "tool_result", "step_nudge"]
    assert shown[4].content.startswith("[StepEnforcementError] ")


async def test_two_terminals_the_first_success_counts(scripted):
    boom = tool(name="boom")(_raise(ValueError("x")))
    workflow = flow(boom, terminal=["submit", "boom"])
    assert await run(scripted([call("submit", text="one"), call("boom")]), workflow) == "one"
    assert await run(scripted([call("boom"), call("submit", text="two")]), workflow) == "two"


async def test_the_end_wins_over_a_failed_sibling(scripted):
    boom = tool(name="boom")(_raise(ValueError("x")))
    client = scripted([call("boom"), call("submit", text="x")])
    assert await run(client, flow(boom), max_tool_errors=0) == "x"


def _raise(error):
    def raiser() -> None:
        raise error

    return raiser


# -- endings that are errors --------------------------------------------------------------------------------


async def failed(kind, client, workflow=None, **options):
    shown = []
    with pytest.raises(kind) as caught:
        await run(client, workflow, shown=shown, **options)
    error = caught.value
    assert error.messages == shown
    assert error.report.attempts == len(client.sent)
    calls = [c.call_id for m in shown for c in m.tool_calls or ()]
    assert calls == [m.tool_call_id for m in shown if m.role is MessageRole.TOOL]
    return error


async def test_no_usable_answer(scripted):
    error = await failed(ToolCallError, scripted(TextResponse("prose")), max_retries_per_step=1)
    assert (error.messages[-2].content, error.completed_steps) == ("prose", [])


async def test_a_tool_that_keeps_failing(scripted):
    boom = tool(name="boom")(_raise(ValueError("bad")))
    error = await failed(ToolExecutionError, scripted([call("boom")]), flow(boom))
    assert (error.tool_name, str(error.cause)) == ("boom", "bad")
    assert [m.content for m in error.messages if m.role is MessageRole.TOOL] == [
        "[ToolError] ValueError: bad"
    ] * 3
    assert [t.outcome for t in error.report.tool_runs] == ["failed"] * 3


async def test_the_end_too_early_too_often(scripted):
    error = await failed(StepEnforcementError, scripted([call("submit")]), flow(required=["fetch"]))
    assert (error.terminal_tool, error.attempts, error.pending_steps) == ("submit", 4, ["fetch"])
    error = await failed(
        StepEnforcementError, scripted([call("submit")]), flow(required=["fetch"]), max_premature_attempts=0
    )
    assert error.attempts == 1


async def test_a_tool_too_early_too_often(scripted):
    late = tool(name="late", prerequisites=["fetch"])(lambda: "l")
    error = await failed(PrerequisiteError, scripted([call("late")]), flow(fetch, late))
    assert (error.tool_name, error.violations, error.missing_prereqs) == ("late", 3, ["fetch"])


async def test_iterations_used_up(scripted):
    error = await failed(
        MaxIterationsError, scripted([call("fetch")]), flow(required=["fetch"]), max_iterations=4
    )
    assert (error.iterations, error.used, error.completed_steps) == (4, 4, ["fetch"])
    error = await failed(MaxIterationsError, scripted(TextResponse("p")), max_iterations=2)
    assert error.used == 2


async def test_a_conversation_that_does_not_fit(scripted):
    big = tool(name="big")(lambda: "x" * 1900)
    client = scripted([call("big")])
    context = ContextManager(TieredCompact(), 400)
    with pytest.raises(ContextBudgetExceeded) as caught:
        await WorkflowRunner(client, context).run(flow(big), "task")
    assert (caught.value.completed_steps, kinds(caught.value.messages)[-1]) == (["big"], "tool_result")


async def test_a_foreign_error_stays_what_it_is(scripted):
    with pytest.raises(ZeroDivisionError) as caught:
        await run(scripted(ZeroDivisionError("client")))
    assert "turn 1" in caught.value.__notes__[0]
    with pytest.raises(KeyError):
        await runner(scripted([call("submit")]), on_message=lambda _: {}["x"]).run(flow(), "task")


# -- what resets what ---------------------------------------------------------------------------------------


async def test_unresolved_data_leaves_the_counters_alone(scripted):
    soft = tool(name="soft")(_raise(ToolResolutionError("nothing there")))
    boom = tool(name="boom")(_raise(ValueError("bad")))
    client = scripted([call("boom")], [call("soft")], [call("boom")])
    error = await failed(ToolExecutionError, client, flow(soft, boom), max_tool_errors=1)
    assert len(client.sent) == 3
    assert error.messages[-3].content == "[ToolResolutionError] nothing there"
    assert "soft" not in error.completed_steps


async def test_success_resets_the_tool_errors(scripted):
    boom = tool(name="boom")(_raise(ValueError("bad")))
    client = scripted(*([call("boom")], [call("fetch")]) * 4, [call("submit", text="x")])
    assert await run(client, flow(fetch, boom), max_tool_errors=1) == "x"


async def test_progress_towards_the_end_is_no_premature_attempt(scripted):
    steps = [tool(name=f"s{i}")(lambda: "ok") for i in range(6)]
    client = scripted(*([call(f"s{i}"), call("submit", text="x")] for i in range(6)))
    assert await run(client, flow(*steps, required=[f"s{i}" for i in range(6)])) == "x"


# -- how tools are run --------------------------------------------------------------------------------------


async def test_sync_tools_do_not_stall_the_loop(scripted):
    threads = []
    loop, started, released = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    @tool
    def blocking() -> str:
        threads.append(threading.current_thread())
        loop.call_soon_threadsafe(started.set)
        assert released.wait(10)
        return "ok"

    async def other():
        # Runs while the tool is blocked: it is what lets the tool go on.
        await started.wait()
        released.set()

    client = scripted([call("blocking")], [call("submit", text="x")])
    result, _ = await asyncio.gather(run(client, flow(blocking)), other())
    assert result == "x"
    assert threads[0] is not threading.main_thread()


async def test_parallel_tools_run_at_the_same_time_in_the_order_of_their_calls(scripted):
    both = asyncio.Barrier(2)

    @tool(parallel=True)
    async def meet(n: int) -> int:
        await asyncio.wait_for(both.wait(), 30)
        return n

    shown = []
    client = scripted([call("meet", n=1), call("meet", n=2)], [call("submit", text="x")])
    await run(client, flow(meet), shown=shown)
    assert [m.content for m in shown if m.tool_name == "meet"] == ["1", "2"]


async def test_tools_run_in_turn_unless_they_are_marked(scripted):
    running = []

    @tool
    async def alone(n: int) -> int:
        running.append(n)
        await asyncio.sleep(0)
        assert running == [n]
        running.clear()
        return n

    client = scripted([call("alone", n=1), call("alone", n=2)], [call("submit", text="x")])
    assert await run(client, flow(alone), max_tool_errors=0) == "x"


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_tool_that_hangs_has_its_time(scripted, kind):
    released = threading.Event()
    if kind == "async":

        @tool(timeout=0.02)
        async def hang() -> None:
            await asyncio.Event().wait()
    else:

        @tool
        def hang() -> None:
            released.wait(100)

    error = await failed(
        ToolExecutionError, scripted([call("hang")]), flow(hang), max_tool_errors=0, tool_timeout=0.02
    )
    released.set()
    assert isinstance(error.cause, ToolTimeoutError)
    assert error.cause.seconds == 0.02


async def test_equal_results_of_equal_calls_are_told_and_changed_ones_pass(scripted):
    shown = []
    await failed_quietly(scripted([call("fetch", key="k")]), flow(), shown)
    told = ["[RepeatedCall]" in m.content for m in shown if m.role is MessageRole.TOOL]
    assert told == [False, False, True, True]
    assert all(m.content.startswith("got k") for m in shown if m.role is MessageRole.TOOL)

    count = iter(range(10))
    poll = tool(name="poll")(lambda: next(count))
    shown = []
    await failed_quietly(scripted([call("poll")]), flow(poll), shown)
    assert not any("[RepeatedCall]" in m.content for m in shown)


async def test_calls_that_take_turns_are_told_too(scripted):
    first, second = (tool(name=name)(lambda: "same") for name in ("first", "second"))
    shown = []
    client = scripted(*[[call("first")], [call("second")]] * 2)
    await failed_quietly(client, flow(first, second), shown)
    told = ["[RepeatedCall]" in m.content for m in shown if m.role is MessageRole.TOOL]
    assert told == [False, False, False, True]


async def failed_quietly(client, workflow, shown):
    with pytest.raises(MaxIterationsError):
        await run(client, workflow, shown=shown, max_iterations=4)


# -- cancelling ---------------------------------------------------------------------------------------------


async def test_cancelled_before_it_begins(scripted):
    cancel = asyncio.Event()
    cancel.set()
    client = scripted([call("submit")])
    with pytest.raises(WorkflowCancelledError) as caught:
        await runner(client).run(flow(), "task", cancel_event=cancel)
    assert (client.sent, caught.value.iteration, kinds(caught.value.messages)) == (
        [],
        0,
        ["system_prompt", "user_input"],
    )


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_cancelling_takes_effect_in_the_middle_of(scripted, where):
    cancel, reached, cleaned = asyncio.Event(), asyncio.Event(), []

    async def hang():
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    stuck = tool(name="stuck")(hang)
    client = scripted(
        [call("fetch")], (lambda _: hang()) if where == "model" else [call("stuck"), call("fetch")]
    )
    task = asyncio.ensure_future(runner(client).run(flow(fetch, stuck), "task", cancel_event=cancel))
    await reached.wait()
    cancel.set()
    with pytest.raises(WorkflowCancelledError) as caught:
        await asyncio.wait_for(task, 30)  # what hangs would do so for ever
    assert (cleaned, caught.value.completed_steps) == ([True], ["fetch"])
    messages = caught.value.messages
    calls = [c.call_id for m in messages for c in m.tool_calls or ()]
    assert calls == [m.tool_call_id for m in messages if m.role is MessageRole.TOOL]


async def test_cancelling_takes_effect_between_retries(scripted):
    cancel = asyncio.Event()
    client = scripted(lambda _: cancel.set() or TextResponse("prose"))

    async def show(_chunk):
        await asyncio.sleep(0)

    with pytest.raises(WorkflowCancelledError):
        await runner(client, stream=True, on_chunk=show).run(flow(), "task", cancel_event=cancel)
    assert len(client.sent) == 1


async def test_a_cancelled_caller_stops_the_run(scripted):
    cancel, reached, cleaned = asyncio.Event(), asyncio.Event(), []

    async def hang():
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    for event in (None, cancel):
        reached.clear()
        cleaned.clear()
        task = asyncio.ensure_future(runner(scripted(lambda _: hang())).run(flow(), "t", cancel_event=event))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaned == [True]


# -- several turns ------------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_with_ids_and_steps_of_its_own(scripted):
    shown = []
    first = runner(scripted([call("fetch", key="a")], [call("submit", text="x")]), on_message=shown.append)
    await first.run(flow(), "one")
    history = [*shown, Message(MessageRole.USER, "two", MessageMeta(MessageType.USER_INPUT))]
    before = list(history)
    client = scripted([call("submit", text="y")])
    result = await runner(client).run_detailed(flow(), "ignored", initial_messages=history)
    assert history == before
    assert [c.call_id for m in result.messages for c in m.tool_calls or ()] == [
        "call_000000000", "call_000000001", "call_000000002",
    ]  # fmt: skip
    steps = [m.metadata.step_index for m in result.messages if m.metadata.step_index]
    assert steps == sorted(steps) == [1, 1, 2, 2, 3, 3]
    assert client.sent[0][-1] == {"role": "user", "content": "two"}


async def test_a_backends_own_ids_are_kept_while_they_are_unique(scripted):
    shown = []
    client = scripted([ToolCall("fetch", {}, id="abc")], [ToolCall("submit", {"text": "x"}, id="abc")])
    await run(client, shown=shown)
    assert [c.call_id for m in shown for c in m.tool_calls or ()] == ["abc", "call_000000000"]


async def test_runs_at_the_same_time_do_not_see_each_other(scripted):
    def answer(messages):
        key = messages[1]["content"]
        done = any(m["role"] == "tool" for m in messages)
        return [call("submit", text=key)] if done else [call("fetch", key=key)]

    one = runner(scripted(answer))

    async def single(n):
        one_run = WorkflowRunner(one.client, ContextManager(NoCompact(), None))
        return await one_run.run(flow(required=["fetch"]), f"k{n}")

    assert await asyncio.gather(*(single(n) for n in range(50))) == [f"k{n}" for n in range(50)]


# -- options ------------------------------------------------------------------------------------------------


def test_reasoning_replay_is_checked():
    with pytest.raises(ValueError, match="reasoning_replay must be one of"):
        runner(None, reasoning_replay="some")


async def test_retry_nudge_as_text(scripted):
    client = scripted(TextResponse("p"), [call("submit", text="x")])
    await run(client, retry_nudge="call something")
    assert client.sent[1][-1]["content"] == "call something"


async def test_prompt_variables(scripted):
    client = scripted([call("submit", text="x")])
    workflow = flow(system_prompt='Be {mood}. Answer {"a": 1}')
    await runner(client).run(workflow, "task", prompt_vars={"mood": "kind"})
    assert client.sent[0][0]["content"] == 'Be kind. Answer {"a": 1}'


def test_run_sync_again_and_again(scripted):
    client = scripted([call("fetch", key="k")], [call("submit", text="x")])
    one = runner(client)
    assert one.run_sync(flow(), "task") == "x"
    assert one.run_sync(flow(), "task") == "x"
    with pytest.raises(ToolCallError):
        runner(scripted(TextResponse("p")), max_retries_per_step=0).run_sync(flow(), "task")
    one.close()


async def test_sampling_and_further_fields_go_with_every_call():
    class Keeps:
        async def send(self, messages, **options):
            self.options = options
            return [call("submit", text="x")]

    client = Keeps()
    await run(client, sampling={"temperature": 0}, passthrough={"max_tokens": 9})
    assert (client.options["sampling"], client.options["passthrough"]) == (
        {"temperature": 0},
        {"max_tokens": 9},
    )
    await runner(client).aclose()


async def test_clients_need_no_attributes():
    class Bare:
        async def send(
            self, messages, tools=None, sampling=None, passthrough=None, inbound_anthropic_body=None
        ):
            self.last = json.dumps(messages)
            return [call("submit", text="x")]

    assert await run(Bare()) == "x"
