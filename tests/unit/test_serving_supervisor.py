"""Keeping a server running, shown with servers that die when told to."""

from __future__ import annotations

import asyncio

import pytest

from forge.errors import BackendGivenUpError, BackendUnreachableError, ServerStartError
from forge.serving.supervisor import Backoff, Supervisor

pytestmark = pytest.mark.anyio

AT_ONCE = Backoff(first=0.0, longest=0.0, attempts=3)


class Mortal:
    def __init__(self) -> None:
        self.death: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.closed = False

    @property
    def alive(self) -> bool:
        return not self.death.done()

    async def wait(self) -> int:
        return await asyncio.shield(self.death)

    async def aclose(self) -> None:
        self.closed = True
        if self.alive:
            self.death.set_result(0)

    def log_tail(self) -> str:
        return "last words"


class Maker:
    """Starts servers; ``refusals`` are raised first, and ``gate`` holds every start but the first."""

    def __init__(self) -> None:
        self.made: list[Mortal] = []
        self.attempts = 0
        self.refusals: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> Mortal:
        self.attempts += 1
        await self.gate.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.made.append(Mortal())
        return self.made[-1]


async def test_a_dead_server_is_followed_by_another_and_callers_wait() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()
    assert supervisor.alive
    make.gate.clear()

    make.made[0].death.set_result(137)
    waiting = asyncio.create_task(supervisor.recovered(0))
    assert (await asyncio.wait({waiting}, timeout=0.05))[0] == set()
    make.gate.set()

    assert await waiting
    assert (supervisor.generation, supervisor.alive, len(make.made)) == (1, True, 2)
    assert make.made[0].closed
    await supervisor.aclose()
    assert make.made[1].closed


async def test_a_call_that_failed_for_another_reason_is_not_repeated() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()

    assert not await supervisor.recovered(0)
    await supervisor.aclose()


async def test_a_death_that_was_answered_meanwhile_counts() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()
    make.made[0].death.set_result(1)
    assert await supervisor.recovered(0)

    assert await supervisor.recovered(0)
    await supervisor.aclose()


async def test_starts_that_fail_are_tried_again_and_given_up() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()
    make.refusals = [ServerStartError("no memory")] * 3

    make.made[0].death.set_result(1)
    with pytest.raises(BackendUnreachableError, match="no memory"):
        await supervisor.recovered(0)

    assert make.attempts == 4
    with pytest.raises(BackendGivenUpError, match="no memory"):
        await supervisor.ready()
    await supervisor.aclose()


async def test_one_that_dies_again_and_again_is_given_up() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()

    for generation in range(3):
        make.made[-1].death.set_result(1)
        assert await supervisor.recovered(generation)
    make.made[-1].death.set_result(1)

    with pytest.raises(BackendUnreachableError):
        await supervisor.recovered(3)
    await supervisor.aclose()


async def test_the_first_start_is_not_tried_again() -> None:
    make = Maker()
    make.refusals = [ServerStartError("bad model")]

    with pytest.raises(ServerStartError, match="bad model"):
        await Supervisor("x", "http://x", make, AT_ONCE).open()

    assert make.attempts == 1


async def test_after_the_end_nobody_waits() -> None:
    make = Maker()
    supervisor = Supervisor("x", "http://x", make, AT_ONCE)
    await supervisor.open()
    make.gate.clear()
    make.made[0].death.set_result(1)
    waiting = asyncio.create_task(supervisor.recovered(0))
    await asyncio.wait({waiting}, timeout=0.05)

    await supervisor.aclose()
    await supervisor.aclose()

    with pytest.raises(BackendUnreachableError):
        await waiting


@pytest.mark.parametrize(("failures", "pause"), [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (9, 30.0)])
def test_pauses_grow(failures: int, pause: float) -> None:
    assert Backoff().pause(failures) == pause
