import asyncio
from contextlib import asynccontextmanager

import pytest

from forge.proxy.error_response import HttpError
from forge.proxy.slots import Slots

pytestmark = pytest.mark.anyio


class Work:
    """Requests that hold their place until they are told to go on; ``order`` is in which they got it."""

    def __init__(self, slots):
        self.slots = slots
        self.order = []
        self.releases = {}
        self.tasks = {}

    def ask(self, caller, name):
        self.releases[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(caller, name))

    async def _hold(self, caller, name):
        async with self.slots.place(caller):
            self.order.append(name)
            await self.releases[name].wait()

    async def finish(self, name):
        self.releases[name].set()
        await self.tasks[name]
        await settled()


async def settled():
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def working(limit=1, queue=10, wait_seconds=None):
    work = Work(Slots(limit, queue=queue, wait_seconds=wait_seconds))
    try:
        yield work
    finally:
        for task in work.tasks.values():
            task.cancel()
        await asyncio.gather(*work.tasks.values(), return_exceptions=True)


async def test_places_go_to_callers_in_turn():
    async with working() as work:
        for caller, name in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")]:
            work.ask(caller, name)
        await settled()
        assert (work.order, work.slots.waiting) == (["a1"], 3)
        for name in ("a1", "a2", "b1", "a3"):
            await work.finish(name)
        assert work.order == ["a1", "a2", "b1", "a3"]
        assert (work.slots.running, work.slots.waiting) == (0, 0)


async def test_as_many_run_as_there_are_places():
    async with working(limit=2) as work:
        for name in "abc":
            work.ask("x", name)
        await settled()
        assert work.order == ["a", "b"]
        await work.finish("b")
        assert work.order == ["a", "b", "c"]


async def test_without_a_limit_nobody_waits():
    async with working(limit=None, queue=0) as work:
        for name in "abc":
            work.ask("x", name)
        await settled()
        assert work.order == ["a", "b", "c"]


async def test_beyond_the_queue_there_is_a_503_that_says_when_to_come_again():
    async with working(queue=1) as work:
        work.ask("x", "runs")
        work.ask("x", "waits")
        await settled()
        with pytest.raises(HttpError) as caught:
            await work.slots.take("y")
        assert (caught.value.status, caught.value.error_code) == (503, "queue_full")
        assert int(caught.value.retry_after) >= 1


async def test_a_wait_that_is_too_long_is_a_503_and_leaves_the_queue():
    async with working(wait_seconds=0.01) as work:
        work.ask("x", "runs")
        await settled()
        with pytest.raises(HttpError) as caught:
            await work.slots.take("y")
        assert (caught.value.status, caught.value.error_code) == (503, "queue_timeout")
        assert work.slots.waiting == 0


async def test_who_gives_up_loses_no_place():
    async with working() as work:
        for name in "abc":
            work.ask("x", name)
        await settled()
        work.tasks["b"].cancel()
        await settled()
        assert work.slots.waiting == 1
        await work.finish("a")
        assert work.order == ["a", "c"]


async def test_a_place_that_comes_to_someone_who_just_left_goes_on():
    async with working() as work:
        await work.slots.take("x")
        for name in "bc":
            work.ask("x", name)
        await settled()
        work.slots.give_back(0.1)  # to b, who has not run yet
        work.tasks["b"].cancel()
        await settled()
        assert work.order == ["c"]
        await work.finish("c")
        assert work.slots.running == 0


async def test_the_advice_follows_how_long_requests_take():
    slots = Slots(1, queue=0, wait_seconds=None)
    advice = []
    for seconds in (0.1, 500.0):
        for _ in range(30):
            await slots.take("x")
            slots.give_back(seconds)
        await slots.take("x")
        with pytest.raises(HttpError) as caught:
            await slots.take("y")
        advice.append(int(caught.value.retry_after))
        slots.give_back(seconds)
    assert advice == [1, 60]
