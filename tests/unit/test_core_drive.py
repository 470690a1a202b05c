"""The driver of a guarded turn over a scripted backend."""

import logging

import pytest

from forge.clients.backend import Backend
from forge.core.capabilities import Capabilities
from forge.core.drive import drive, drive_whole
from forge.core.events import CallReady, Finish, Finished, TextDelta
from forge.core.request import ChatMessage, Request, Text, Tool
from forge.engine import Turn
from forge.errors import BackendError, StreamError

pytestmark = pytest.mark.anyio

REQUEST = Request(
    messages=(ChatMessage(role="user", parts=(Text("hi"),)),),
    tools=(Tool(name="list_files", parameters={"type": "object", "properties": {}}),),
)
STOP = Finish(reason="stop")
UNKNOWN = '<tool_call>{"name": "nope", "arguments": {}}</tool_call>'
GOOD = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'


class Scripted(Backend):
    """Plays one list of deltas (or one error) for each exchange; ``closed`` counts those that were closed."""

    def __init__(self, *attempts):
        self.attempts = list(attempts)
        self.closed = 0

    async def capabilities(self):
        return Capabilities()

    async def exchange(self, request, *, headers=None):
        try:
            for step in self.attempts.pop(0):
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed += 1

    async def aclose(self):
        return


async def one_by_one(turn, backend):
    return [output async for outputs in drive(turn, backend) for output in outputs]


@pytest.fixture(params=[one_by_one, drive_whole], ids=["one by one", "whole"])
def outputs_of(request):
    return lambda backend, **options: request.param(Turn(REQUEST, **options), backend)


async def test_attempts_follow_one_another_until_one_is_accepted(outputs_of):
    backend = Scripted([TextDelta(UNKNOWN), STOP], [TextDelta(GOOD), STOP])

    outputs = await outputs_of(backend)

    assert [output.name for output in outputs if isinstance(output, CallReady)] == ["list_files"]
    assert isinstance(outputs[-1], Finished)
    assert (backend.attempts, backend.closed) == ([], 2)


async def test_a_first_attempt_that_fails_is_the_callers_error(outputs_of):
    with pytest.raises(BackendError):
        await outputs_of(Scripted([BackendError(500, "broken")]))


async def test_an_answer_without_an_end_is_an_error(outputs_of):
    with pytest.raises(StreamError):
        await outputs_of(Scripted([TextDelta("half")]))


async def test_a_later_attempt_that_fails_leaves_the_first_answer(outputs_of):
    outputs = await outputs_of(Scripted([TextDelta(UNKNOWN), STOP], [BackendError(500, "broken")]))

    assert "".join(output.text for output in outputs if isinstance(output, TextDelta)) == UNKNOWN
    assert isinstance(outputs[-1], Finished)


async def test_a_consumer_that_stops_closes_the_exchange():
    backend = Scripted([TextDelta("one "), TextDelta("two "), STOP])
    outputs = drive(Turn(REQUEST), backend)

    await anext(outputs)
    await outputs.aclose()

    assert backend.closed == 1


async def test_a_fault_of_a_guard_is_logged(outputs_of, caplog):
    def no_id():
        raise RuntimeError("boom")

    with caplog.at_level(logging.ERROR):
        outputs = await outputs_of(Scripted([TextDelta(GOOD), STOP]), new_id=no_id)

    assert outputs[0] == TextDelta(GOOD)
    assert ["RuntimeError: boom" in record.message for record in caplog.records] == [True]


async def test_nothing_counts_behind_the_end_of_an_answer(outputs_of):
    backend = Scripted([TextDelta(UNKNOWN), STOP, BackendError(500, "late")], [TextDelta(GOOD), STOP])

    outputs = await outputs_of(backend)

    assert [output.name for output in outputs if isinstance(output, CallReady)] == ["list_files"]
    assert backend.attempts == []


async def test_what_arrives_together_is_given_out_together():
    class Bursts(Scripted):
        async def batches(self, request, *, headers=None):
            yield [TextDelta("one "), TextDelta("two "), TextDelta("or three ")]
            yield [TextDelta("three."), STOP]

    first, *others = [outputs async for outputs in drive(Turn(REQUEST), Bursts())]

    assert first == [TextDelta("one ")], "the first word waits for nothing"
    assert [[type(output) for output in outputs] for outputs in others] == [
        [TextDelta, TextDelta],
        [TextDelta, Finished],
    ]


class FailsAtItsClose(Scripted):
    async def exchange(self, request, *, headers=None):
        try:
            async for delta in super().exchange(request, headers=headers):
                yield delta
        except GeneratorExit:
            raise StreamError("could not be closed") from None


async def test_an_exchange_that_cannot_be_closed_takes_no_answer_back(outputs_of):
    outputs = await outputs_of(FailsAtItsClose([TextDelta("hello"), STOP, TextDelta("more"), STOP]))

    assert isinstance(outputs[-1], Finished)
