"""Each agent completes a task although the model's first answer is a call that no server understands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from clients.agents import AGENTS, Agent, Place, aider, environment
from clients.reading_model import ReadingModel
from servers.running import running_proxy

from forge.proxy.runtime import Runtime

pytestmark = [pytest.mark.anyio, pytest.mark.clients, pytest.mark.timeout(400)]

SECONDS = 300
BLOCK = """README.md
```
<<<<<<< SEARCH
The secret word is OSPREY.
=======
The secret word is HERON.
>>>>>>> REPLACE
```
"""


async def run(program: Path, argv: list[str], place: Place, extra: dict[str, str]) -> tuple[int, str]:
    """Exit status and output of an agent; it and all that it started are gone afterwards."""
    child = await asyncio.create_subprocess_exec(
        str(program),
        *argv,
        cwd=place.project,
        env=environment(place.home) | extra,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await asyncio.wait_for(child.communicate(), SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    assert child.returncode is not None
    return child.returncode, output.decode(errors="replace")


def place_for(proxy: Runtime, tmp_path: Path, project: Path) -> Place:
    home = tmp_path / "home"
    home.mkdir()
    return Place(home=home, project=project, url=proxy.url)


@pytest.mark.parametrize("agent", AGENTS, ids=[agent.name for agent in AGENTS])
async def test_the_file_is_read_although_the_call_came_as_text(
    agent: Agent, executable: Callable[[str], Path], project: Path, tmp_path: Path
) -> None:
    async with (
        ReadingModel(agent.reading(str(project / "README.md"))) as model,
        running_proxy(model.url) as proxy,
    ):
        place = place_for(proxy, tmp_path, project)
        argv, extra = agent.launch(place)
        status, output = await run(executable(agent.program), argv, place, extra)

    assert status == 0, output
    assert "OSPREY" in output
    assert len(model.guarded) == 2  # the call was rescued, not asked for again


async def test_edits_written_as_text_come_through(
    executable: Callable[[str], Path], project: Path, tmp_path: Path
) -> None:
    async with ReadingModel("", plain=BLOCK) as model, running_proxy(model.url) as proxy:
        place = place_for(proxy, tmp_path, project)
        argv, extra = aider(place)
        status, output = await run(executable("aider"), argv, place, extra)

    assert status == 0, output
    assert "HERON" in (project / "README.md").read_text(encoding="utf-8")
    assert len(model.chats) == 1
