import asyncio

import pytest

from forge.proxy.closing import Closing
from forge.proxy.error_response import HttpError

pytestmark = pytest.mark.anyio


async def test_what_is_in_flight_at_the_end_is_told():
    closing, entered = Closing(), asyncio.Event()

    async def work():
        with closing.attended():
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    closing.end()
    with pytest.raises(HttpError) as caught:
        await task
    assert (caught.value.status, caught.value.error_code) == (503, "shutting_down")


async def test_what_comes_after_the_end_is_told_too():
    closing = Closing()
    closing.end()
    with pytest.raises(HttpError), closing.attended():
        await asyncio.sleep(0)
    assert asyncio.current_task().cancelling() == 0


async def test_what_ended_before_is_left_alone():
    closing = Closing()
    with closing.attended():
        pass
    closing.end()
    await asyncio.sleep(0)


async def test_a_cancellation_for_another_reason_stays_one():
    closing, entered = Closing(), asyncio.Event()

    async def work():
        with closing.attended():
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    closing.end()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
