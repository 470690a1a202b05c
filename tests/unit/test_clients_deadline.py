import asyncio

import pytest

from forge.clients.deadline import deadline

pytestmark = pytest.mark.anyio


async def forever():
    await asyncio.Event().wait()


async def test_what_takes_too_long_ends():
    with pytest.raises(TimeoutError), deadline(0):
        await forever()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("seconds", [pytest.param(60, id="bound"), pytest.param(None, id="no bound")])
async def test_what_is_in_time_is_left_alone(seconds):
    with deadline(seconds):
        await asyncio.sleep(0)
    with pytest.raises(KeyError), deadline(seconds):
        raise KeyError


async def test_the_inner_of_two_ends_first():
    with deadline(60):
        with pytest.raises(TimeoutError), deadline(0):
            await forever()
        await asyncio.sleep(0)


async def test_cancelled_from_elsewhere_at_the_same_time_it_stays_cancelled():
    async def bounded():
        with deadline(0):
            asyncio.get_running_loop().call_later(0, task.cancel)
            await forever()

    task = asyncio.create_task(bounded())
    await asyncio.wait({task})
    assert task.cancelled()


async def test_cancelled_in_time():
    async def bounded():
        with deadline(60):
            await forever()

    task = asyncio.create_task(bounded())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
