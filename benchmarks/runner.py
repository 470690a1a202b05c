"""What the library costs beside the model: overhead of a model call, many workflows at once, compaction.

Run: ``python benchmarks/runner.py``. The client answers at once from a script, so all the time is ours; it is
measured as CPU time, since other work on the machine must not decide.
Prints one row for each measure with the limit that it must stay under, and exits with 1 when one does not.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from forge import (
    ContextManager,
    NoCompact,
    TieredCompact,
    TokenUsage,
    ToolCall,
    Workflow,
    WorkflowRunner,
    tool,
)
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo

WORKFLOWS = 1000
STEPS = 5
FAILURES: list[str] = []


def row(name: str, value: float, unit: str, limit: float | None = None) -> None:
    """Print one measure; note it when it is over its limit."""
    bound = "" if limit is None else f"  (limit {limit:g} {unit})"
    print(f"{name:64}{value:10.3f} {unit}{bound}")
    if limit is not None and value > limit:
        FAILURES.append(name)


@tool
async def look_up(key: str, depth: int = 1) -> str:
    """Look something up.

    Args:
        key: What to look up.
        depth: How deep.
    """
    return f"value of {key} at {depth}"


@tool
def look_up_slowly(key: str, depth: int = 1) -> str:
    """Look something up, in a thread."""
    return f"value of {key} at {depth}"


@tool
async def submit(answer: str) -> str:
    """Give the answer."""
    return answer


class Scripted:
    """Calls the lookup tool until the conversation is long enough, then submits the user's own words."""

    api_format = "openai"
    model = "scripted"

    def __init__(self, steps: int, name: str = "look_up") -> None:
        self.steps = steps
        self.name = name
        self.seconds = 0.0
        self.calls = 0

    async def send(self, messages: list[dict[str, Any]], **_options: Any) -> list[ToolCall]:
        """One answer; the time spent in here is the client's own."""
        begin = time.process_time()
        done = sum(message["role"] == "tool" for message in messages)
        TokenUsage(100 + 20 * done, 20, 120 + 20 * done)
        task = messages[1]["content"]
        call = (
            ToolCall("submit", {"answer": task})
            if done >= self.steps
            else ToolCall(self.name, {"key": f"{task}-{done}", "depth": done})
        )
        self.calls += 1
        self.seconds += time.process_time() - begin
        return [call]


def workflow(lookup: Any = look_up) -> Workflow:
    return Workflow.from_tools([lookup, submit], terminal_tool="submit", required_steps=[lookup.name])


async def overhead(lookup: Any) -> float:
    """Median milliseconds beside the client for one model call and the tool that it leads to."""
    flow = workflow(lookup)
    samples = []
    for number in range(60):
        client = Scripted(STEPS, lookup.name)
        runner = WorkflowRunner(client, ContextManager(TieredCompact(), 100_000))
        begin = time.process_time()
        await runner.run(flow, f"task {number}")
        samples.append((time.process_time() - begin - client.seconds) / client.calls)
    return statistics.median(samples) * 1000


async def crowd(flow: Workflow) -> float:
    """Run all workflows at once; every one must get its own answer back. Returns seconds."""
    client = Scripted(STEPS)

    async def one(number: int) -> bool:
        context = ContextManager(TieredCompact(), 100_000)
        answer = await WorkflowRunner(client, context).run(flow, f"task {number}")
        return bool(answer == f"task {number}")

    begin = time.process_time()
    answers = await asyncio.gather(*(one(number) for number in range(WORKFLOWS)))
    seconds = time.process_time() - begin
    if not all(answers):
        FAILURES.append("cross-talk between workflows")
    if len(asyncio.all_tasks()) > 1:
        FAILURES.append("tasks left behind")
    return seconds


def leak(flow: Workflow) -> float:
    """Kilobytes that stay after another crowd, once the first has filled the caches."""
    asyncio.run(crowd(flow))
    gc.collect()
    tracemalloc.start()
    asyncio.run(crowd(flow))
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept / 1024


def long_conversation(messages: int) -> list[Message]:
    """A system prompt, a question, and as many calls and results as make up the number."""
    system = Message(MessageRole.SYSTEM, "s" * 400, MessageMeta(MessageType.SYSTEM_PROMPT))
    question = Message(MessageRole.USER, "q" * 200, MessageMeta(MessageType.USER_INPUT))
    conversation = [system, question]
    for step in range((messages - 2) // 2):
        call = ToolCallInfo("look_up", {"key": f"k{step}", "depth": step}, f"call_{step:09d}")
        conversation.append(
            Message(MessageRole.ASSISTANT, "", MessageMeta(MessageType.TOOL_CALL, step), tool_calls=[call])
        )
        meta = MessageMeta(MessageType.TOOL_RESULT, step)
        conversation.append(
            Message(MessageRole.TOOL, "r" * 300, meta, tool_name="look_up", tool_call_id=call.call_id)
        )
    return conversation


def best(function: Callable[[], object], rounds: int = 7) -> float:
    """Milliseconds of the fastest of several runs."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times) * 1000


def compaction(phase: int) -> float:
    messages = long_conversation(5000)
    thresholds = [0.0] * 3
    for later in range(phase, 3):
        thresholds[later] = 100.0
    strategy = TieredCompact(phase_thresholds=(thresholds[0], thresholds[1], thresholds[2]))
    return best(lambda: ContextManager(strategy, 10_000_000).maybe_compact(list(messages)))


def main() -> int:
    """Measure everything."""
    flow = workflow()
    row("overhead of a model call and its async tool, median", asyncio.run(overhead(look_up)), "ms", 0.3)
    row("the same with a sync tool in its thread", asyncio.run(overhead(look_up_slowly)), "ms")
    seconds = asyncio.run(crowd(flow))
    row(f"{WORKFLOWS} workflows of {STEPS + 1} model calls at once", seconds, "s")
    row("  of that for each model call", seconds * 1000 / (WORKFLOWS * (STEPS + 1)), "ms")
    row("  memory kept afterwards", leak(flow), "kB", 256)
    for phase in (1, 2, 3):
        row(f"compaction of 5,000 messages, phase {phase}", compaction(phase), "ms", 20)
    count = ContextManager(NoCompact(), None)
    messages = long_conversation(5000)
    row("estimate of 5,000 messages", best(lambda: count.estimate_tokens(messages)), "ms")
    for failure in FAILURES:
        print(f"FAILED: {failure}")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
