import asyncio

import pytest

from forge.proxy.stream import HEARTBEAT, EventStream, cancelled_with_client

pytestmark = pytest.mark.anyio


class Sent:
    """Collects ASGI messages; ``changed`` is set with each one."""

    def __init__(self):
        self.messages = []
        self.changed = asyncio.Event()

    async def __call__(self, message):
        self.messages.append(message)
        self.changed.set()

    @property
    def body(self):
        return b"".join(m.get("body", b"") for m in self.messages)

    async def until(self, condition):
        while not condition():
            self.changed.clear()
            await self.changed.wait()


async def test_nothing_is_sent_before_the_first_event():
    sent = Sent()
    async with EventStream(sent, 60) as stream:
        assert not stream.started
        assert sent.messages == []
        await stream.write(b"data: 1\n\n")
        assert [m["type"] for m in sent.messages] == ["http.response.start", "http.response.body"]
        await stream.end()
    assert sent.messages[-1].get("more_body", False) is False


async def test_silence_is_filled_with_comments():
    sent = Sent()
    async with EventStream(sent, 0.01) as stream:
        await sent.until(lambda: sent.body.count(HEARTBEAT) >= 2)
        await stream.write(b"data: 1\n\n")
        await stream.end()
    assert sent.body.replace(HEARTBEAT, b"") == b"data: 1\n\n"


async def test_an_output_without_an_event_changes_nothing():
    sent = Sent()
    async with EventStream(sent, 0.01) as stream:
        await stream.write(b"")
        assert sent.messages == []
        await stream.write(b"data: 1\n\n")
        await stream.write(b"")
        await sent.until(lambda: HEARTBEAT in sent.body)
        await stream.end()


async def test_no_comment_inside_an_event():
    sent = Sent()
    async with EventStream(sent, 0.01) as stream:
        await stream.write(b"data: {")
        await asyncio.sleep(0.1)  # ten intervals in which a comment could come
        await stream.write(b"}\n\n")
        await stream.end()
    assert sent.body.startswith(b"data: {}\n\n")


async def test_an_error_ends_a_half_sent_event_first():
    sent = Sent()
    async with EventStream(sent, 60) as stream:
        await stream.write(b"data: {")
        await stream.fail(b"data: error\n\n")
    assert sent.body == b"data: {\n\ndata: error\n\n"


async def test_no_comment_after_the_end():
    sent = Sent()
    async with EventStream(sent, 0.01) as stream:
        await stream.end(b"data: 1\n\n")
    count = len(sent.messages)
    await asyncio.sleep(0.05)
    assert len(sent.messages) == count


async def test_the_work_is_cancelled_when_the_client_goes():
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    reached = cancelled = False
    with cancelled_with_client(receive):
        reached = True
        gone.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise
    assert reached
    assert cancelled
    assert asyncio.current_task().cancelling() == 0


async def test_a_cancellation_from_elsewhere_passes():
    async def receive():
        await asyncio.Event().wait()

    async def work():
        with cancelled_with_client(receive):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_exception_of_the_work_passes():
    async def receive():
        await asyncio.Event().wait()

    with pytest.raises(KeyError), cancelled_with_client(receive):
        raise KeyError
