"""Whatever tools, clients, callbacks and callers do: a typed end with the conversation, and nothing left behind."""

import asyncio
import datetime as dt
import itertools
import threading

import pytest

from forge.clients.base import ChunkType, StreamChunk
from forge.context import ContextManager, NoCompact
from forge.core.calls import TextResponse, ToolCall
from forge.core.messages import MessageRole
from forge.core.runner import WorkflowRunner
from forge.core.slot_worker import SlotWorker
from forge.core.tool_execution import MAX_ITEMS, execute_tool
from forge.core.transcript import unanswered
from forge.core.workflow import ToolDef, ToolSpec, Workflow
from forge.errors import (
    ForgeError,
    ProtocolMisuseError,
    StreamError,
    ToolExecutionError,
    WorkerStoppedError,
    WorkflowCancelledError,
)
from forge.tools import tool

pytestmark = pytest.mark.anyio

END = [ToolCall("end", {})]


@tool
def end() -> str:
    """End."""
    return "done"


def workflow_of(*tools):
    return Workflow.from_tools([*tools, end], terminal_tool="end")


def runner_of(client, **options):
    return WorkflowRunner(client, ContextManager(NoCompact(), None), **options)


def a_tool(function, name="t"):
    return ToolDef(ToolSpec.from_json_schema(name, "", {"type": "object"}), function)


def results(messages):
    return [message.content for message in messages if message.role is MessageRole.TOOL]


# -- tools --------------------------------------------------------------------------------------------------


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raising(error):
    def function(**_):
        raise error

    return function


async def cancelled_inside(**_):
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(raising(UnprintableError()), id="an error without text"),
        pytest.param(raising(ExceptionGroup("several", [ValueError("one")])), id="group"),
        pytest.param(raising(StopIteration()), id="stop iteration"),
        pytest.param(raising(asyncio.CancelledError()), id="cancelled in its thread"),
        pytest.param(cancelled_inside, id="cancelled within"),
    ],
)
async def test_whatever_a_tool_raises_is_a_failure_that_the_model_reads(scripted, function):
    client = scripted([ToolCall("t", {})], END)
    result = await runner_of(client).run_detailed(workflow_of(a_tool(function)), "task")
    assert result.value == "done"
    assert results(result.messages)[0].startswith("[ToolError] ")
    with pytest.raises(ToolExecutionError) as caught:
        await runner_of(scripted([ToolCall("t", {})]), max_tool_errors=0).run(
            workflow_of(a_tool(function)), "task"
        )
    assert (caught.value.tool_name, caught.value.turn) == ("t", 1)
    assert results(caught.value.messages)[0].startswith("[ToolError] ")


async def test_an_exit_passes_and_says_where_it_came_from(scripted):
    class Exit(BaseException):
        pass

    with pytest.raises(Exit) as caught:
        await runner_of(scripted([ToolCall("t", {})])).run(workflow_of(a_tool(raising(Exit()))), "task")
    assert "'t'" in caught.value.__notes__[0]


def numbers(**_):
    yield from (1, 2)


async def async_numbers(**_):
    for number in (1, 2):
        yield number


async def counted_from_a_coroutine(**_):
    return iter((1, 2))


@pytest.mark.parametrize("function", [numbers, async_numbers, counted_from_a_coroutine])
async def test_what_a_tool_yields_is_its_result(function):
    assert await execute_tool(a_tool(function), {}) == [1, 2]


async def test_what_never_ends_is_cut():
    async def for_ever(**_):
        for number in itertools.count():
            yield number

    assert len(await execute_tool(a_tool(for_ever), {})) == MAX_ITEMS
    assert len(await execute_tool(a_tool(lambda **_: itertools.count()), {})) == MAX_ITEMS


@pytest.mark.parametrize(
    "name", ["class", "None", "with-dash", "two words", "数据", "__init__", "self", "a.b"]
)
async def test_tools_may_have_any_name(scripted, name):
    client = scripted([ToolCall(name, {})], END)
    result = await runner_of(client).run_detailed(workflow_of(a_tool(lambda: "ok", name)), "task")
    assert results(result.messages) == ["ok", "done"]


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "objekt"}, id="no such type"),
        pytest.param({"properties": 3}, id="properties"),
        pytest.param({"required": "x"}, id="required"),
        pytest.param({"$ref": "#/nope"}, id="reference into nothing"),
        pytest.param({"properties": {"a": {"$ref": "#/properties/a"}}}, id="reference to itself"),
        pytest.param({"properties": {"a": {"pattern": "("}}}, id="pattern"),
    ],
)
async def test_an_invalid_schema_does_not_stop_its_tool(scripted, schema):
    spec = ToolSpec.from_json_schema("t", "", schema)
    client = scripted([ToolCall("t", {"a": "1"})], END)
    result = await runner_of(client).run_detailed(workflow_of(ToolDef(spec, lambda **_: "ok")), "task")
    assert results(result.messages) == ["ok", "done"]


@pytest.mark.parametrize("schema", [None, [], "text", 5])
def test_what_is_no_schema_at_all_is_refused_with_the_tools_name(schema):
    with pytest.raises(ValueError, match="'t'"):
        ToolSpec.from_json_schema("t", "", schema)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two tools are named 't'"):
        workflow_of(a_tool(print), a_tool(print))


# -- clients and callbacks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [None, "text", 5, [None], [ToolCall(None, {})], TextResponse(5), [ToolCall("end", {}, reasoning=5)]],
)
async def test_a_client_that_answers_with_something_else_is_told(scripted, answer):
    with pytest.raises(ProtocolMisuseError) as caught:
        await runner_of(scripted(lambda _: answer)).run(workflow_of(), "task")
    assert len(caught.value.messages) == 2


@pytest.mark.parametrize(
    "args", [{"a": {1, 2}}, {"a": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, {"a": object()}, {1: 2}, object()]
)
async def test_arguments_that_are_no_json_do_not_stop_a_run(scripted, args):
    client = scripted([ToolCall("t", args)], END)
    assert await runner_of(client).run(workflow_of(a_tool(lambda **_: "ok")), "task") == "done"


class Streaming:
    def __init__(self, *chunks, error=None):
        self.chunks, self.error, self.closed = chunks, error, False

    async def send_stream(self, messages, **_):
        try:
            for chunk in self.chunks:
                yield chunk
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


HALF = StreamChunk(ChunkType.TEXT_DELTA, content="I will")


@pytest.mark.parametrize("error", [None, StreamError("the connection broke")])
async def test_half_an_answer_is_kept_in_the_error(error):
    with pytest.raises(StreamError) as caught:
        await runner_of(Streaming(HALF, error=error), stream=True).run(workflow_of(), "task")
    assert caught.value.messages[-1].content == "I will"


async def test_a_callback_that_raises_closes_the_stream():
    client = Streaming(HALF, HALF)

    async def on_chunk(_):
        raise LookupError("mine")

    with pytest.raises(LookupError) as caught:
        await runner_of(client, stream=True, on_chunk=on_chunk).run(workflow_of(), "task")
    assert client.closed
    assert "turn 1" in caught.value.__notes__[0]


@pytest.mark.parametrize("at", range(5))
async def test_a_watcher_that_raises_is_not_called_again(scripted, at):
    seen = []

    def on_message(message):
        seen.append(message)
        if len(seen) > at:
            raise LookupError("mine")

    client = scripted([ToolCall("t", {}), ToolCall("t", {})], END)
    with pytest.raises(LookupError):
        await runner_of(client, on_message=on_message).run(workflow_of(a_tool(lambda: "ok")), "task")
    assert len(seen) == at + 1


# -- callers that go away -----------------------------------------------------------------------------------


class Slow:
    """Gives the loop a turn wherever a real client would."""

    def __init__(self):
        self.calls = 0

    async def send(self, messages, **_):
        self.calls += 1
        for _ in range(3):
            await asyncio.sleep(0)
        return (
            [ToolCall("nope", {})] if self.calls == 1 else [ToolCall("t", {})] * 2 if self.calls == 2 else END
        )


async def slow_tool():
    for _ in range(2):
        await asyncio.sleep(0)
    return "ok"


def quiet_workflow():
    parallel = ToolDef(ToolSpec.from_json_schema("t", "", {"type": "object"}), slow_tool, parallel=True)
    last = ToolDef(ToolSpec.from_json_schema("end", "", {"type": "object"}), slow_tool)
    return Workflow.from_tools([parallel, last], terminal_tool="end")


ENDS = {"event": WorkflowCancelledError, "task": asyncio.CancelledError}


@pytest.mark.parametrize("way", ENDS)
async def test_cancelling_at_every_point_leaves_nothing_behind(way):
    before = asyncio.all_tasks()
    ends = []
    for steps in range(60):
        event, seen = asyncio.Event(), []
        runner = runner_of(Slow(), on_message=seen.append)
        task = asyncio.create_task(runner.run(quiet_workflow(), "task", cancel_event=event))
        for _ in range(steps):
            await asyncio.sleep(0)
        event.set() if way == "event" else task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        assert outcome == "ok" or isinstance(outcome, ENDS[way])
        assert unanswered(seen) == []
        assert getattr(outcome, "messages", seen) == seen
        assert asyncio.all_tasks() <= before, steps
        ends.append(outcome)
    assert isinstance(ends[0], ENDS[way])
    assert ends[-1] == "ok"


async def test_a_thousand_runs_at_once_stay_apart(scripted):
    threads = set(threading.enumerate())

    class Echo:
        async def send(self, messages, **_):
            await asyncio.sleep(0)
            return [ToolCall("t", {"text": messages[1]["content"]})]

    async def echo(text):
        return text

    workflow = Workflow.from_tools([a_tool(echo)], terminal_tool="t")
    runs = (runner_of(Echo()).run(workflow, f"task {n}") for n in range(1000))
    assert await asyncio.gather(*runs) == [f"task {n}" for n in range(1000)]
    # Compared by identity: one that an earlier test left may end meanwhile.
    assert set(threading.enumerate()) <= threads


# -- the slot worker ----------------------------------------------------------------------------------------


class Endless:
    """A runner whose runs end only by being cancelled."""

    def __init__(self):
        self.running = asyncio.Event()

    async def run(self, workflow, user_message, cancel_event=None, **_):
        self.running.set()
        await cancel_event.wait()
        raise WorkflowCancelledError([], [], 0)


@pytest.mark.parametrize("steps", range(8))
async def test_stopping_in_the_middle_of_a_preemption_leaves_nobody_waiting(steps):
    before = asyncio.all_tasks()
    runner = Endless()
    worker = SlotWorker(runner)
    await worker.start()
    low = asyncio.create_task(worker.submit(None, "low", 5, requeue=True))
    await runner.running.wait()
    high = asyncio.create_task(worker.submit(None, "high", 1))
    other = asyncio.create_task(worker.submit(None, "other", 9))
    other.cancel()
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.gather(worker.stop(), worker.stop())
    ends = await asyncio.gather(low, high, other, return_exceptions=True)
    assert all(isinstance(end_, ForgeError | asyncio.CancelledError) for end_ in ends)
    assert (worker.pending, worker.running_priority) == (0, None)
    assert asyncio.all_tasks() <= before


async def test_a_run_that_was_cancelled_from_within_does_not_end_the_worker():
    class Odd:
        async def run(self, workflow, user_message, cancel_event=None, **_):
            if user_message == "odd":
                raise asyncio.CancelledError
            return user_message

    async with SlotWorker(Odd()) as worker:
        with pytest.raises(WorkflowCancelledError):
            await worker.submit(None, "odd")
        assert await worker.submit(None, "even") == "even"


async def test_a_worker_that_dies_lets_go_of_all_who_wait():
    class Fatal(BaseException):
        pass

    class Dying:
        async def run(self, *_, **__):
            await asyncio.sleep(0)
            raise Fatal

    worker = SlotWorker(Dying())
    await worker.start()
    ends = await asyncio.gather(*(worker.submit(None, str(n)) for n in range(3)), return_exceptions=True)
    assert [type(one) for one in ends] == [WorkerStoppedError] * 3
    with pytest.raises(Fatal):
        await worker._worker_task
    with pytest.raises(WorkerStoppedError):
        await worker.submit(None, "late")


async def test_a_run_may_stop_its_own_worker():
    before = asyncio.all_tasks()

    class Stopping:
        async def run(self, *_, cancel_event=None, **__):
            await worker.stop()

    worker = SlotWorker(Stopping())
    await worker.start()
    with pytest.raises(WorkflowCancelledError):
        await worker.submit(None, "task")
    with pytest.raises(WorkerStoppedError):
        await worker.submit(None, "late")
    await worker.stop()
    assert asyncio.all_tasks() <= before


@pytest.mark.parametrize("steps", range(5))
async def test_starting_while_it_stops_starts_it_again(steps):
    class Quick:
        async def run(self, workflow, user_message, cancel_event=None, **_):
            return user_message

    worker = SlotWorker(Quick())
    await worker.start()
    stopping = asyncio.create_task(worker.stop())
    for _ in range(steps):
        await asyncio.sleep(0)
    await worker.start()
    await stopping
    await worker.start()
    async with asyncio.timeout(30):
        assert await worker.submit(None, "task") == "task"
    await worker.stop()


# -- sync callers -------------------------------------------------------------------------------------------


async def test_a_sync_run_inside_a_running_loop(scripted):
    assert runner_of(scripted(END)).run_sync(workflow_of(), "task") == "done"


async def test_a_sync_run_inside_a_sync_run_is_refused(scripted):
    async def nested():
        return runner_of(scripted(END)).run_sync(workflow_of(), "inner")

    client = scripted([ToolCall("t", {})], END)
    runner = runner_of(client)
    assert await asyncio.to_thread(runner.run_sync, workflow_of(a_tool(nested)), "outer") == "done"
    assert "cannot wait for itself" in client.sent[1][-1]["content"]
