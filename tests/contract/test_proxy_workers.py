"""Several workers behind one address, as processes."""

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager

import aiohttp
import psutil
import pytest
from servers.commands import STAND_IN, put_on_path
from servers.proxy_process import CHAT, launch, running, said
from servers.scripted import Gate, ScriptedServer, stream_text, whole_text

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="sockets are handed on to processes"),
]


def workers_of(process):
    found = psutil.Process(process.pid).children()
    return [child for child in found if "forge.proxy.worker" in " ".join(child.cmdline())]


@asynccontextmanager
async def two_workers(backend_url, *arguments, **environment):
    async with running("--backend-url", backend_url, "--workers", "2", *arguments, **environment) as (
        process,
        url,
    ):
        yield process, url


async def ask(url, **fields):
    """One chat on a connection of its own, so that any worker may get it."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json={**CHAT, **fields}) as response,
    ):
        return response.status, await response.read()


async def test_workers_share_the_port_and_a_dead_one_is_replaced():
    async with (
        ScriptedServer([whole_text(str(n)) for n in range(40)]) as backend,
        two_workers(backend.url) as (process, url),
    ):
        first, second = workers_of(process)
        assert {(await ask(url))[0] for _ in range(10)} == {200}
        first.kill()
        await said(process, b"replaced")
        # Connections for the dead worker wait for the one that follows it.
        answers = await asyncio.wait_for(asyncio.gather(*(ask(url) for _ in range(10))), 30)
        assert {status for status, _ in answers} == {200}
        now = {child.pid for child in workers_of(process)}
        assert len(now) == 2
        assert (first.pid in now, second.pid in now) == (False, True)

        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0
        assert not any(psutil.pid_exists(pid) for pid in now)


async def test_a_signal_lets_requests_in_flight_finish_in_all_workers():
    gates = [Gate() for _ in range(6)]
    scripts = [stream_text(["Hel", gate, "lo"]) for gate in gates]
    async with ScriptedServer(scripts) as backend, two_workers(backend.url) as (process, url):
        asked = [asyncio.create_task(ask(url, stream=True)) for _ in gates]
        await backend.chat(len(gates))
        process.send_signal(signal.SIGTERM)
        await said(process, b"Shutting down")
        for gate in gates:
            gate.set()
        for status, body in await asyncio.gather(*asked):
            assert status == 200
            assert body.endswith(b"data: [DONE]\n\n")
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_a_second_signal_ends_all_at_once():
    async with ScriptedServer([stream_text([Gate()])]) as backend, two_workers(backend.url) as (process, url):
        asked = asyncio.create_task(ask(url, stream=True))
        recorded = await backend.chat()
        workers = workers_of(process)
        process.send_signal(signal.SIGINT)
        await said(process, b"Shutting down")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 130  # the drain may take 30 seconds
        await asyncio.wait_for(recorded.gone.wait(), 30)
        await asyncio.gather(asked, return_exceptions=True)
        assert (await asyncio.to_thread(psutil.wait_procs, workers, 30))[1] == []


async def test_workers_end_when_their_parent_is_killed():
    async with ScriptedServer() as backend, two_workers(backend.url) as (process, _):
        workers = workers_of(process)
        process.kill()
        assert (await asyncio.to_thread(psutil.wait_procs, workers, 30))[1] == []


async def test_a_second_proxy_does_not_share_the_port():
    async with ScriptedServer() as backend, two_workers(backend.url) as (_, url):
        port = url.rpartition(":")[2]
        other = await launch("--backend-url", backend.url, "--port", port, "--workers", "2")
        _, err = await asyncio.wait_for(other.communicate(), 30)
    assert other.returncode == 1
    assert f"port {port}" in err.decode()


async def test_one_model_server_for_all_workers(tmp_path):
    put_on_path(tmp_path / "bin", "llama-server", STAND_IN)
    launches = tmp_path / "launches"
    environment = {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "FORGE_CACHE_DIR": str(tmp_path / "cache"),
        "FORGE_TEST_LAUNCHES": str(launches),
    }
    arguments = ("--backend", "llamaserver", "--gguf", "m.gguf", "--backend-port", "0", "--workers", "2")
    async with running(*arguments, **environment) as (process, url):
        (server,) = (
            p
            for p in psutil.Process(process.pid).children(recursive=True)
            if "m.gguf" in p.cmdline() and not p.children()
        )
        async with aiohttp.ClientSession() as session:
            for number in range(8):
                if number == 4:
                    server.kill()  # whoever asks now waits for the next one
                async with session.get(f"{url}/props", headers={"Connection": "close"}) as response:
                    assert response.status == 200
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0
        assert (await asyncio.to_thread(psutil.wait_procs, family, 30))[1] == []
    assert len(launches.read_text().splitlines()) == 2
