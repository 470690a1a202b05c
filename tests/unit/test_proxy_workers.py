import asyncio
import os
import signal
import socket
import sys

import msgspec
import pytest

from forge.errors import BackendGivenUpError, BackendUnreachableError, ServerStartError
from forge.proxy.limits import Limits
from forge.proxy.server import BindError, bind, bind_for
from forge.proxy.settings import Settings
from forge.proxy.workers import Brief, WorkerPool, watch

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="sockets are handed on to processes"),
]

SETTINGS = Settings(
    backend_url="http://b",
    api_key="k",
    backend_api_key="b",
    workers=2,
    extra_flags=("-t", "3"),
    cors_origins=("https://a.example",),
    limits=Limits(queue=3, total_seconds=1.5),
)


def test_a_worker_is_told_everything():
    brief = Brief(SETTINGS, 7, "http://b", budget=5, window=6)
    assert msgspec.json.decode(msgspec.json.encode(brief), type=Brief) == brief


def test_sockets_of_one_address():
    listeners = bind_for(3, "127.0.0.1", 0)
    try:
        assert len({listener.getsockname() for listener in listeners}) == 1
        with pytest.raises(BindError):
            bind_for(2, "127.0.0.1", listeners[0].getsockname()[1])
        with pytest.raises(BindError):
            bind("127.0.0.1", listeners[0].getsockname()[1])
    finally:
        for listener in listeners:
            listener.close()


class Rival:
    """A second proxy that starts at the worst of moments: whenever the first one binds a further socket."""

    def __init__(self):
        self.port = None
        self.joined = []
        self.binds = 0
        sys.addaudithook(self)  # stays for the life of the process, asleep without a port

    def __call__(self, event, arguments):
        if event != "socket.bind" or self.port is None or arguments[1][1] != self.port:
            return
        self.binds += 1
        if self.binds == 1:
            return
        port, self.port = self.port, None
        try:
            self.joined += bind_for(2, "127.0.0.1", port)
        except BindError:
            self.port = port


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers have one socket")
def test_two_proxies_that_start_at_once_do_not_share_a_port():
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    rival = Rival()
    first = []
    try:
        rival.port = port
        first = bind_for(3, "127.0.0.1", port)
        assert rival.binds == 3
        assert (len(first), rival.joined) == (3, [])
    finally:
        rival.port = None
        for listener in [*first, *rival.joined]:
            listener.close()


def pool(program, workers=2):
    command = (sys.executable, "-c", f"import sys; sys.stdin.readline(); {program}")
    return WorkerPool(bind_for(workers, "127.0.0.1", 0), lambda fd: Brief(SETTINGS, fd, "http://b"), command)


async def test_a_worker_that_does_not_start_ends_them_all():
    workers = pool("sys.exit(3)")
    with pytest.raises(ServerStartError) as caught:
        await asyncio.wait_for(workers.serve(lambda: pytest.fail("nothing started")), 30)
    assert "3" in str(caught.value)
    assert workers.pids == []


async def test_a_worker_that_dies_again_and_again_is_given_up():
    started = asyncio.Event()
    workers = pool(
        "print('ready', flush=True)", workers=1
    )  # of two, one might be given up before the other is ready
    with pytest.raises(ServerStartError):
        await asyncio.wait_for(workers.serve(started.set), 60)
    assert started.is_set()


async def test_a_stop_before_the_first_worker_is_started():
    workers = pool("print('ready', flush=True); sys.stdin.readline()")
    serving = asyncio.create_task(workers.serve(lambda: None))
    await asyncio.sleep(0)  # those who keep the workers are there, and have not begun
    workers.stop()
    await asyncio.wait_for(serving, 30)
    assert workers.pids == []


async def test_workers_end_when_they_are_told():
    started = asyncio.Event()
    workers = pool("print('ready', flush=True); sys.exit(sys.stdin.readline() != 'stop\\n')")
    serving = asyncio.create_task(workers.serve(started.set))
    await asyncio.wait_for(started.wait(), 30)
    assert len(workers.pids) == 2
    port = workers.port
    workers.stop()
    await asyncio.wait_for(serving, 30)
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


async def test_workers_end_at_once_when_they_are_forced():
    started = asyncio.Event()
    workers = pool("print('ready', flush=True); sys.stdin.read()")
    serving = asyncio.create_task(workers.serve(started.set))
    await asyncio.wait_for(started.wait(), 30)
    workers.force()
    await asyncio.wait_for(serving, 30)
    assert workers.pids == []


class Given:
    """A host that runs for some looks, and is given up then."""

    generation = 3

    def __init__(self, looks, error):
        self.looks, self.error = looks, error

    async def recovered(self, since):
        assert since == self.generation
        self.looks -= 1
        if self.looks < 0:
            raise self.error
        await asyncio.sleep(0)
        return False


class Told:
    def __init__(self):
        self.causes = []

    def lose(self, cause):
        self.causes.append(cause)


async def test_a_server_that_is_given_up_is_told_to_the_workers_and_one_that_is_stopped_is_not():
    cause, told = ServerStartError("no memory"), Told()
    await watch(Given(3, BackendGivenUpError("http://b", cause)), told)
    assert told.causes == [cause]
    await watch(Given(3, BackendUnreachableError("http://b", cause)), told)
    assert told.causes == [cause]


async def test_workers_are_told_that_the_model_server_is_lost_those_that_follow_too(tmp_path):
    said = tmp_path / "said"
    os.mkfifo(said)
    workers = pool(
        f"print('ready', flush=True); open({str(said)!r}, 'w').write(sys.stdin.readline()); sys.stdin.readline()",
        workers=1,
    )
    started = asyncio.Event()
    serving = asyncio.create_task(workers.serve(started.set))
    await asyncio.wait_for(started.wait(), 30)
    (first,) = workers.pids
    workers.lose(ServerStartError("no memory"))
    assert await asyncio.to_thread(said.read_text) == 'lost "no memory"\n'
    os.kill(first, signal.SIGKILL)
    assert await asyncio.to_thread(said.read_text) == 'lost "no memory"\n'
    workers.stop()
    await asyncio.wait_for(serving, 30)
