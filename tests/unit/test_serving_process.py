"""Owned child processes, shown with real ones."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from forge.errors import ServerStartError
from forge.serving.process import ChildServer, Launch, start

pytestmark = pytest.mark.anyio

# Announces its own process id as its "address", then stays.
STAYS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
DEAF = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"
WITH_CHILD = "import subprocess, sys, time; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); time.sleep(600)"


def python(source: str, log: Path, **options: object) -> Launch:
    return Launch(
        name="the server", argv=(sys.executable, "-c", source), log_path=log / "server.log", **options
    )


async def first_line(child: ChildServer) -> str:
    line = await child.stdout.readline()
    if not line:
        await asyncio.get_running_loop().create_future()
    return line.decode().strip()


async def never(child: ChildServer) -> str:
    return await asyncio.get_running_loop().create_future()


def gone(pid: int) -> bool:
    """Whether the process ends within a generous time."""
    try:
        psutil.Process(pid).wait(timeout=20)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


async def test_a_server_is_ready_when_it_says_so_and_gone_when_closed(tmp_path: Path) -> None:
    child, address = await start(python(STAYS, tmp_path), first_line)
    assert child.alive
    assert psutil.pid_exists(int(address))

    await child.aclose()
    await child.aclose()  # idempotent

    assert not child.alive
    assert gone(int(address))


async def test_a_context_manager_closes_it(tmp_path: Path) -> None:
    child, address = await start(python(STAYS, tmp_path), first_line)

    async with child:
        pass

    assert gone(int(address))


async def test_a_failed_start_is_seen_at_once_with_cause_and_log(tmp_path: Path) -> None:
    source = "import sys; print('0.01 I starting', '0.02 E srv: no such model', '0.03 I bye', sep='\\n', file=sys.stderr); sys.exit(3)"

    with pytest.raises(ServerStartError) as caught:
        await start(python(source, tmp_path, ready_timeout=None), first_line)

    assert "srv: no such model" in str(caught.value)
    assert "status 3" in str(caught.value)
    assert "0.03 I bye" in caught.value.log
    assert str(tmp_path / "server.log") in caught.value.hint


async def test_a_missing_program_is_named(tmp_path: Path) -> None:
    launch = Launch(name="the server", argv=("/nonexistent/llama-server",), log_path=tmp_path / "server.log")

    with pytest.raises(ServerStartError, match="/nonexistent/llama-server"):
        await start(launch, never)


async def test_a_server_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    pids: list[int] = []

    async def announces_but_is_not_ready(child: ChildServer) -> str:
        pids.append(int(await first_line(child)))
        return await never(child)

    for seconds in (
        0.5,
        2,
        8,
        32,
    ):  # on a busy machine it may take longer until there is something to be ended
        with pytest.raises(ServerStartError, match="not ready"):
            await start(python(STAYS, tmp_path, ready_timeout=seconds), announces_but_is_not_ready)
        if pids:
            break

    assert gone(pids[0])


async def test_a_readiness_check_may_fail_by_itself_and_nothing_stays(tmp_path: Path) -> None:
    pids: list[int] = []

    async def refuses(child: ChildServer) -> str:
        pids.append(int(await first_line(child)))
        raise ServerStartError("someone else sits on that port")

    with pytest.raises(ServerStartError, match="someone else"):
        await start(python(STAYS, tmp_path), refuses)

    assert gone(pids[0])


async def test_a_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    announced: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def slow(child: ChildServer) -> str:
        announced.set_result(int(await first_line(child)))
        return await never(child)

    task = asyncio.create_task(start(python(STAYS, tmp_path), slow))
    pid = await announced
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert gone(pid)


async def test_a_server_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    child, address = await start(python(DEAF, tmp_path, grace=0.2), first_line)

    await child.aclose()

    assert gone(int(address))


async def test_a_death_of_the_server_is_seen(tmp_path: Path) -> None:
    child, address = await start(python(STAYS, tmp_path), first_line)

    os.kill(int(address), signal.SIGKILL)

    assert await child.wait() == 128 + signal.SIGKILL
    await child.aclose()


async def test_children_of_the_server_end_with_it(tmp_path: Path) -> None:
    child, grandchild = await start(python(WITH_CHILD, tmp_path), first_line)

    await child.aclose()

    assert gone(int(grandchild))


async def test_additions_to_the_environment_reach_the_server(tmp_path: Path) -> None:
    source = "import os, time; print(os.environ['GREETING'], flush=True); time.sleep(600)"

    child, said = await start(python(source, tmp_path, environment={"GREETING": "hello"}), first_line)
    await child.aclose()

    assert said == "hello"


def owner(tmp_path: Path, child_source: str) -> subprocess.Popen[str]:
    """Another Python process that owns a server; prints the pids of guard and server, then waits."""
    source = textwrap.dedent(f"""
        import asyncio, json, sys
        from pathlib import Path
        from forge.serving.process import Launch, start

        async def ready(child):
            return (await child.stdout.readline()).decode().strip()

        async def main():
            launch = Launch(name="x", argv=(sys.executable, "-c", {child_source!r}), log_path=Path({str(tmp_path)!r}) / "x.log")
            child, pid = await start(launch, ready)
            print(json.dumps([child.pid, int(pid)]), flush=True)
            await asyncio.sleep(600)

        asyncio.run(main())
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_no_orphan_when_forge_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    process = owner(tmp_path, STAYS)
    with process:
        assert process.stdout is not None
        guard, server = json.loads(process.stdout.readline())
        process.send_signal(number)
        process.wait()

    assert gone(server)
    assert gone(guard)


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_no_orphan_when_the_guard_is_killed(tmp_path: Path) -> None:
    process = owner(tmp_path, STAYS)
    with process:
        assert process.stdout is not None
        guard, server = json.loads(process.stdout.readline())
        os.kill(guard, signal.SIGKILL)
        assert gone(server)
        process.kill()


async def test_a_log_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "server.log").mkdir()

    with pytest.raises(ServerStartError):
        await start(python(STAYS, tmp_path), first_line)
