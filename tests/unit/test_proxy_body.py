import asyncio

import pytest

from forge.proxy.body import Bodies, ClientGoneError, read_body
from forge.proxy.error_response import HttpError
from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio
SMALL = Limits(body_bytes=10, body_seconds=0.05)


def receiver(*messages):
    queue = list(messages)

    async def receive():
        if not queue:
            await asyncio.Event().wait()
        return queue.pop(0)

    return receive


def part(body, *, more):
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([part(b"0123456789", more=False)], id="one"),
        pytest.param([part(b"01234", more=True), part(b"56789", more=False)], id="two"),
        pytest.param([part(b"0123456789", more=True), part(b"", more=False)], id="empty-end"),
    ],
)
async def test_a_body_up_to_the_limit(parts):
    assert await read_body(receiver(*parts), Bodies(SMALL), None) == b"0123456789"


@pytest.mark.parametrize(
    ("parts", "declared", "status"),
    [
        pytest.param([], b"11", 413, id="declared"),
        pytest.param([part(b"x" * 11, more=False)], None, 413, id="whole"),
        pytest.param([part(b"x" * 6, more=True), part(b"x" * 5, more=True)], None, 413, id="chunked"),
        pytest.param([part(b"x", more=True)], None, 408, id="slow"),
        pytest.param([], b"5", 408, id="nothing-comes"),
    ],
)
async def test_beyond_the_bounds(parts, declared, status):
    with pytest.raises(HttpError) as caught:
        await read_body(receiver(*parts), Bodies(SMALL), declared)
    assert caught.value.status == status


async def test_a_client_that_goes_away():
    with pytest.raises(ClientGoneError):
        await read_body(receiver(part(b"x", more=True), {"type": "http.disconnect"}), Bodies(SMALL), None)


async def test_a_limit_below_a_mebibyte_is_told_as_it_is():
    with pytest.raises(HttpError) as caught:
        await read_body(receiver(), Bodies(Limits(body_bytes=256 * 1024)), b"300000")
    assert "0.25 MiB" in str(caught.value)


TWO = Limits(body_bytes=10, bodies_bytes=15, body_seconds=0.05)


async def test_what_is_held_counts_until_it_is_given_back():
    bodies = Bodies(TWO)
    first = await read_body(receiver(part(b"01234", more=True), part(b"56789", more=False)), bodies, None)
    assert bodies.held == 10
    for parts, declared in (([part(b"012345", more=False)], None), ([], b"6")):
        with pytest.raises(HttpError) as caught:
            await read_body(receiver(*parts), bodies, declared)
        assert (caught.value.status, caught.value.error_code) == (503, "bodies_full")
        assert caught.value.retry_after == "1"
    assert bodies.held == 10
    bodies.give_back(first)
    assert await read_body(receiver(part(b"012345", more=False)), bodies, b"6") == b"012345"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([part(b"x" * 6, more=True), part(b"x" * 5, more=True)], id="too-large"),
        pytest.param([part(b"x", more=True)], id="slow"),
        pytest.param([part(b"x", more=True), {"type": "http.disconnect"}], id="gone"),
    ],
)
async def test_a_body_that_does_not_come_to_its_end_is_not_held(parts):
    bodies = Bodies(TWO)
    with pytest.raises((HttpError, ClientGoneError)):
        await read_body(receiver(*parts), bodies, None)
    assert bodies.held == 0


async def test_a_length_that_is_only_promised_takes_no_room():
    bodies = Bodies(TWO)
    waiting = asyncio.create_task(read_body(receiver(part(b"0", more=True)), bodies, b"10"))
    await asyncio.sleep(0)
    assert bodies.held == 1
    assert await read_body(receiver(part(b"0123456789", more=False)), bodies, b"10")
    with pytest.raises(HttpError):
        await waiting


async def test_one_alone_always_has_room():
    bodies = Bodies(Limits(body_bytes=10, bodies_bytes=3))
    parts = [part(b"01234", more=True), part(b"56789", more=False)]
    assert len(await read_body(receiver(*parts), bodies, b"10")) == 10
