"""Async code for callers without a loop."""

import asyncio
import subprocess
import sys
import threading

import pytest

from forge.core.sync import run_blocking


async def loop_and_thread():
    return asyncio.get_running_loop(), threading.current_thread()


def test_all_calls_share_one_loop_in_one_daemon_thread():
    results = {run_blocking(loop_and_thread()) for _ in range(3)}
    ((loop, thread),) = results
    assert loop.is_running()
    assert thread.daemon
    assert thread is not threading.current_thread()


def test_errors_arrive():
    async def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_blocking(fail())


@pytest.mark.anyio
async def test_callable_beside_a_running_loop():
    assert run_blocking(asyncio.sleep(0, "done")) == "done"


UNCLOSED = """
import asyncio
from forge.core.sync import run_blocking

async def kept():
    try:
        yield
    finally:
        print("closed")

async def fail():
    await anext(generator)
    raise KeyError("x")

async def waiting():
    try:
        await asyncio.Event().wait()
    finally:
        print("cancelled")

async def begin():
    task.append(asyncio.ensure_future(waiting()))
    await asyncio.sleep(0)

task = []
generator = kept()
run_blocking(begin())
run_blocking(fail())
"""


def test_what_nobody_closed_is_closed_with_the_program():
    """As it would be by asyncio.run: clients keep their connections by a generator."""
    ended = subprocess.run(
        [sys.executable, "-c", UNCLOSED], capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.stdout == "cancelled\nclosed\n"
    assert ended.stderr.endswith("KeyError: 'x'\n")


def test_waiting_for_itself_is_refused():
    async def inner():
        return run_blocking(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="wait for itself"):
        run_blocking(inner())


def test_a_sync_tool_may_run_a_workflow_of_its_own(scripted):
    from forge import ContextManager, NoCompact, ToolCall, Workflow, WorkflowRunner, tool

    def runner(*answers):
        return WorkflowRunner(scripted(*answers), ContextManager(NoCompact(), None))

    @tool
    def inner() -> str:
        """Inner."""
        return "inner result"

    @tool
    def outer() -> str:
        """Outer."""
        flow = Workflow.from_tools([inner], terminal_tool="inner")
        return runner([ToolCall("inner", {})]).run_sync(flow, "x")

    flow = Workflow.from_tools([outer], terminal_tool="outer")
    assert runner([ToolCall("outer", {})]).run_sync(flow, "x") == "inner result"
