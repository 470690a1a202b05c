"""The natural case: a coding agent and a model that writes its calls in tags that no server reads.

Qwen2.5-Coder-1.5B answers pi's "read README.md" with ``<tools>{"name": "read", ...}</tools>`` or with a fence as text;
without Forge pi takes that for the answer and stops.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from clients.agents import AGENTS, Place
from clients.test_agents import run
from servers.running import running_proxy

from forge.embedded import store
from forge.embedded.launch import EmbeddedServer, start
from forge.embedded.models import MODELS

pytestmark = [pytest.mark.anyio, pytest.mark.clients, pytest.mark.timeout(900)]

MODEL = "qwen2.5-coder-1.5b"
PI = next(agent for agent in AGENTS if agent.name == "pi")


@pytest.fixture(scope="module")
async def server(executable: Callable[[str], Path], anyio_backend: object) -> AsyncIterator[EmbeddedServer]:
    if not store.installed(MODELS[MODEL]):
        pytest.skip(f"needs the model: python -m forge.embedded install {MODEL}")
    async with await start(MODEL, context_length=8192) as running:
        yield running


async def test_pi_reads_the_file(
    server: EmbeddedServer, executable: Callable[[str], Path], project: Path, tmp_path: Path
) -> None:
    async with running_proxy(server.base_url, backend="llamaserver") as proxy:
        home = tmp_path / "home"
        home.mkdir()
        place = Place(home=home, project=project, url=proxy.url, model=MODEL, prompt="read README.md")
        argv, extra = PI.launch(place)
        argv = ["--mode", "json", *argv]
        _, output = await run(executable(PI.program), argv, place, extra)

    assert '"toolName":"read"' in output.replace(" ", "")
    assert "The secret word is OSPREY" in output  # the tool's result, which the model had to ask for
