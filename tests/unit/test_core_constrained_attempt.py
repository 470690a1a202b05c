"""The attempt that cannot be malformed, on a backend without a network."""

import pytest

from forge.clients.backend import Backend
from forge.clients.base import ChunkType, TokenUsage, _capture_usage
from forge.context import ContextManager, NoCompact
from forge.core.calls import TextResponse, ToolCall
from forge.core.capabilities import Capabilities
from forge.core.constrained_attempt import can_constrain, constrained_attempt
from forge.core.events import Finish, TextDelta, Usage
from forge.core.runner import WorkflowRunner
from forge.core.workflow import Workflow
from forge.errors import MaxIterationsError, ToolCallError
from forge.tools import tool

pytestmark = pytest.mark.anyio


@tool
def pick(colour: str) -> str:
    """Pick a colour."""
    return colour


class Server(Backend):
    """Answers ``send`` with prose and a constrained exchange with whole or cut-off calls."""

    api_format = "openai"

    def __init__(self, *texts, constrains=True, reason="stop"):
        self.texts = list(texts)
        self.reason = reason
        self.constrains = constrains
        self.requests = []
        self.sends = 0

    async def capabilities(self):
        return Capabilities(constrains=self.constrains)

    async def exchange(self, request, *, headers=None):
        self.requests.append(request)
        yield TextDelta(self.texts[len(self.requests) - 1])
        yield Usage(prompt_tokens=10, completion_tokens=3)
        yield Finish(reason=self.reason)

    async def send(self, messages, **options):
        self.sends += 1
        TokenUsage(5, 5, 10)
        return TextResponse("prose")

    async def aclose(self):
        pass


CALL = '{"name": "pick", "arguments": {"colour": "red"}}'
MESSAGES = [{"role": "user", "content": "hi"}]


async def test_a_call_and_its_usage():
    server = Server(CALL)
    with _capture_usage() as captured:
        response, _ = await constrained_attempt(server, MESSAGES, [pick], {"temperature": 0})
    assert response == [ToolCall("pick", {"colour": "red"})]
    assert captured.usage == TokenUsage(10, 3, 13)
    (request,) = server.requests
    assert [t.name for t in request.constraint.tools] == [t.name for t in request.tools] == ["pick"]
    assert bytes(request.options["temperature"]) == b"0"


RAN_AWAY = '{"name": "pick", "arguments": {"colour": "' + "the red of the " * 12


async def test_a_call_that_ran_away_is_tried_again_with_short_texts():
    server = Server(RAN_AWAY, CALL, reason="length")
    with _capture_usage() as captured:
        response, broken = await constrained_attempt(server, MESSAGES, [pick], {})
    assert (response, broken) == ([ToolCall("pick", {"colour": "red"})], None)
    assert captured.usage == TokenUsage(10, 6, 16)
    assert [r.constraint.longest_text for r in server.requests] == [None, 80]


async def test_what_the_token_limit_cut_is_not_tried_again():
    server = Server("half a call", CALL, reason="length")
    assert (await constrained_attempt(server, MESSAGES, [pick], {})).response == TextResponse("half a call")
    assert len(server.requests) == 1


def long_call(length):
    return f'{{"name": "pick", "arguments": {{"colour": "{long_text(length)}"}}}}'


def long_text(length):
    return " ".join(str(n * n) for n in range(2000))[:length]


async def test_a_call_that_outgrew_our_own_bound_gets_a_wider_one():
    server = Server(long_call(256), long_call(700))
    response, _ = await constrained_attempt(server, MESSAGES, [pick], {})
    assert response == [ToolCall("pick", {"colour": long_text(700)})]
    assert [r.constraint.longest_text for r in server.requests] == [None, 4096]


async def test_a_call_that_our_own_bound_cut_is_never_run():
    server = Server(long_call(256), long_call(4096))
    workflow = Workflow.from_tools([pick], terminal_tool="pick")
    runner = WorkflowRunner(server, ContextManager(NoCompact(), None), max_retries_per_step=0)
    with pytest.raises(ToolCallError) as caught:
        await runner.run(workflow, "task")
    assert caught.value.completed_steps == []
    assert caught.value.raw_response == long_call(4096)


async def test_only_real_backends_that_can_are_asked():
    assert await can_constrain(Server())
    assert not await can_constrain(Server(constrains=False))
    assert not await can_constrain(object())


@pytest.mark.parametrize(("retries", "sends"), [(2, 2), (0, 0)])
async def test_the_last_attempt_of_a_run_is_constrained(retries, sends):
    server = Server(CALL)
    workflow = Workflow.from_tools([pick], terminal_tool="pick")
    runner = WorkflowRunner(server, ContextManager(NoCompact(), None), max_retries_per_step=retries)
    result = await runner.run_detailed(workflow, "task")
    assert (result.value, server.sends, len(server.requests)) == ("red", sends, 1)
    assert [call.constrained for call in result.report.model_calls] == [False] * sends + [True]


async def test_a_stream_ends_with_its_final_chunk_also_where_the_last_attempt_is_constrained():
    chunks = []

    async def note(chunk):
        chunks.append(chunk)

    workflow = Workflow.from_tools([pick], terminal_tool="pick")
    context = ContextManager(NoCompact(), None)
    runner = WorkflowRunner(
        Server(CALL), context, max_retries_per_step=0, stream=True, on_chunk=note, max_iterations=1
    )

    await runner.run(workflow, "task")

    assert [(chunk.type, chunk.response) for chunk in chunks] == [
        (ChunkType.FINAL, [ToolCall("pick", {"colour": "red"})])
    ]


@pytest.mark.parametrize("constrains", [True, False])
async def test_an_example_is_shown_only_where_the_form_is_not_enforced(constrains):
    """Small models copy what they are shown, placeholders included."""

    class Prose(Server):
        seen = ()

        async def send(self, messages, **options):
            self.seen = messages
            return TextResponse("prose")

    server = Prose(CALL, constrains=constrains)
    runner = WorkflowRunner(server, ContextManager(NoCompact(), None), max_iterations=3)
    with pytest.raises(MaxIterationsError):
        await runner.run(Workflow.from_tools([pick], terminal_tool="pick"), "task")
    assert ("arguments" in server.seen[-1]["content"]) is not constrains
