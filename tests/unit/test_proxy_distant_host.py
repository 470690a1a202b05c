import asyncio

import pytest

from forge.errors import BackendGivenUpError, ServerStartError
from forge.proxy.distant_host import DistantHost

pytestmark = pytest.mark.anyio


class Backend:
    """Unreachable for so many looks."""

    def __init__(self, looks):
        self.left = looks

    async def unreachable(self):
        self.left -= 1
        return OSError("nobody") if self.left >= 0 else None


async def test_the_servers_return_is_waited_for_once_for_all():
    backend = Backend(3)
    host = DistantHost(backend.unreachable, ask_every=0)
    assert await asyncio.gather(host.recovered(0), host.recovered(0)) == [True, True]
    assert (host.generation, backend.left) == (1, -1)
    await host.ready()


async def test_a_server_that_does_not_return_is_given_up():
    host = DistantHost(Backend(10**9).unreachable, patience=0.01, ask_every=0.001)
    assert not await host.recovered(0)
    assert host.generation == 0


async def test_those_who_wait_together_lose_patience_together():
    backend = Backend(10**9)
    host = DistantHost(backend.unreachable, patience=0.05, ask_every=0.001)
    began = asyncio.get_running_loop().time()
    assert await asyncio.gather(*(host.recovered(0) for _ in range(40))) == [False] * 40
    assert asyncio.get_running_loop().time() - began < 1  # one after the other it would be two


async def test_a_server_that_is_given_up_elsewhere_is_waited_for_no_longer():
    backend = Backend(10**9)
    host = DistantHost(backend.unreachable, ask_every=0.01)
    waiting = asyncio.create_task(host.recovered(0))
    await asyncio.sleep(0)
    host.lose(ServerStartError("no memory"))
    for asked in (waiting, host.recovered(0), host.ready()):
        with pytest.raises(BackendGivenUpError, match="no memory"):
            await asyncio.wait_for(asked, 5)
