"""One slot, many callers."""

import asyncio

import pytest

from forge.core.slot_worker import SlotWorker
from forge.errors import WorkerStoppedError, WorkflowCancelledError

pytestmark = pytest.mark.anyio


class Runner:
    """Runs a "workflow" that is a coroutine function; raises like the real one when it is cancelled."""

    def __init__(self):
        self.started = []
        self.seen = []

    async def run(self, workflow, user_message, prompt_vars=None, initial_messages=None, cancel_event=None):
        self.started.append(user_message)
        self.seen.append((prompt_vars, initial_messages))
        work = asyncio.ensure_future(workflow())
        watch = asyncio.ensure_future(cancel_event.wait())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise WorkflowCancelledError([user_message], [], 1)
            return work.result()
        finally:
            work.cancel()
            watch.cancel()


async def forever():
    await asyncio.Event().wait()


async def quick():
    return "done"


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def submit(worker, workflow, name, **options):
    return asyncio.ensure_future(worker.submit(workflow, name, **options))


async def test_order_is_priority_then_arrival():
    runner = Runner()
    worker = SlotWorker(runner)
    tasks = [submit(worker, quick, f"{p}{i}", priority=p) for i, p in enumerate([2, 1, 2, 0, 1])]
    await settle()
    assert (worker.pending, worker.running_priority) == (5, None)
    async with worker:
        assert await asyncio.gather(*tasks) == ["done"] * 5
    assert runner.started == ["03", "11", "14", "20", "22"]


async def test_more_urgent_work_takes_the_slot_at_once():
    async with SlotWorker(Runner()) as worker:
        slow = submit(worker, forever, "slow", priority=5)
        await settle()
        assert worker.running_priority == 5
        equal = submit(worker, quick, "equal", priority=5)
        await settle()
        assert not slow.done()
        assert await worker.submit(quick, "urgent", priority=1) == "done"
        with pytest.raises(WorkflowCancelledError) as caught:
            await slow
        assert caught.value.messages == ["slow"]
        assert await equal == "done"


async def test_preempted_work_can_be_queued_again():
    runner = Runner()
    gate = asyncio.Event()

    async def gated():
        await gate.wait()
        return "finally"

    async with SlotWorker(runner) as worker:
        slow = submit(worker, gated, "slow", priority=5, requeue=True)
        await settle()
        assert await worker.submit(quick, "urgent", priority=1) == "done"
        gate.set()
        assert await slow == "finally"
    assert runner.started == ["slow", "urgent", "slow"]


async def test_waiting_makes_urgent():
    runner = Runner()
    worker = SlotWorker(runner, ageing=1e-9)
    old = submit(worker, quick, "old", priority=3)
    await settle()
    fresh = submit(worker, quick, "fresh", priority=1)
    await settle()
    async with worker:
        await asyncio.gather(old, fresh)
    assert runner.started == ["old", "fresh"]
    with pytest.raises(ValueError):
        SlotWorker(runner, ageing=0)


async def test_what_has_waited_long_is_not_displaced():
    gate = asyncio.Event()

    async def gated():
        await gate.wait()
        return "finally"

    async with SlotWorker(Runner(), ageing=1e-9) as worker:
        old = submit(worker, gated, "old", priority=5)
        await settle()
        fresh = submit(worker, quick, "fresh", priority=1)
        await settle()
        assert (old.done(), worker.running_priority) == (False, 5)
        gate.set()
        assert await asyncio.gather(old, fresh) == ["finally", "done"]


async def test_a_runner_that_ignores_cancelling_is_cut_off():
    class Deaf:
        async def run(self, workflow, user_message, prompt_vars=None, cancel_event=None):
            await workflow()

    worker = SlotWorker(Deaf())
    await worker.start()
    running = submit(worker, forever, "running")
    await settle()
    await worker.stop()
    with pytest.raises(WorkflowCancelledError):
        await running


async def test_stopping_leaves_nobody_waiting():
    worker = SlotWorker(Runner())
    await worker.start()
    await worker.start()
    running, queued = submit(worker, forever, "running"), submit(worker, quick, "queued")
    await settle()
    await worker.stop()
    await worker.stop()
    with pytest.raises(WorkflowCancelledError) as caught:
        await running
    assert caught.value.messages == ["running"]
    with pytest.raises(WorkflowCancelledError):
        await queued
    with pytest.raises(WorkerStoppedError):
        await worker.submit(quick, "late")
    assert worker._worker_task is None
    await worker.start()
    assert await worker.submit(quick, "again") == "done"
    await worker.stop()


async def test_a_cancelled_caller_takes_its_work_along():
    runner = Runner()
    async with SlotWorker(runner) as worker:
        running, queued = submit(worker, forever, "running"), submit(worker, quick, "queued")
        await settle()
        queued.cancel()
        running.cancel()
        await asyncio.wait({running, queued})
        await settle()
        assert (worker.running_priority, worker.pending, runner.started) == (None, 0, ["running"])
        assert await worker.submit(quick, "next") == "done"


async def test_cancel_current_fails_the_running_only():
    async with SlotWorker(Runner()) as worker:
        worker.cancel_current()
        running, queued = submit(worker, forever, "running", requeue=True), submit(worker, quick, "queued")
        await settle()
        worker.cancel_current()
        with pytest.raises(WorkflowCancelledError):
            await running
        assert await queued == "done"


async def test_errors_go_to_their_caller_and_the_worker_goes_on():
    async def broken():
        raise ZeroDivisionError

    async with SlotWorker(Runner()) as worker:
        with pytest.raises(ZeroDivisionError):
            await worker.submit(broken, "broken")
        assert await worker.submit(quick, "next") == "done"


async def test_everything_is_passed_on():
    runner = Runner()
    async with SlotWorker(runner) as worker:
        await worker.submit(quick, "a", prompt_vars={"x": 1}, initial_messages=[1])
        await worker.submit(quick, "b")
    assert runner.seen == [({"x": 1}, [1]), (None, None)]
    assert worker.runner is runner


@pytest.mark.parametrize("running", [True, False])
async def test_a_submission_may_have_an_event_that_cancels_it(running):
    before = asyncio.all_tasks()
    event = asyncio.Event()
    async with SlotWorker(Runner()) as worker:
        other = None if running else submit(worker, forever, "other")
        mine = submit(worker, forever, "mine", cancel_event=event, requeue=True, priority=1)
        await settle()
        event.set()
        with pytest.raises(WorkflowCancelledError):
            await mine
        assert worker.pending == 0
        if other is not None:
            assert not other.done()
            other.cancel()
        assert await worker.submit(quick, "next", cancel_event=asyncio.Event()) == "done"
    await settle()
    assert asyncio.all_tasks() <= before
