"""A real llama-server, started, watched, killed and ended by Forge."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pydantic import BaseModel
from servers.commands import LLAMA_SERVER, put_on_path

from forge import LlamafileClient, ServerManager, TextResponse, ToolSpec, setup_backend
from forge.core.constrained_attempt import constrained_attempt
from forge.embedded import launch as embedded_launch
from forge.embedded import store
from forge.embedded.launch import EmbeddedServer
from forge.embedded.models import DEFAULT_MODEL, MODELS
from forge.errors import ServerStartError

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

TEMPLATE = Path(embedded_launch.__file__).with_name("chatml_tools.jinja")
QUESTION = [{"role": "user", "content": "Weather in Oslo?"}]


class City(BaseModel):
    city: str


TOOLS = [ToolSpec(name="get_weather", description="Current weather of a city", parameters=City)]
HELLO = [{"role": "user", "content": "Say hello."}]


@pytest.fixture
def gguf(embedded_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model; ``llama-server`` is on PATH, and logs go to a folder of the test's."""
    model = store.model_path(MODELS[DEFAULT_MODEL])
    put_on_path(tmp_path / "bin", "llama-server", LLAMA_SERVER)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FORGE_TEST_LAUNCHES", str(tmp_path / "launches"))
    return model


def launches(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "launches").read_text().splitlines()]


def server_process(server: ServerManager) -> psutil.Process:
    """The llama-server itself, below its guard."""
    assert server.pid is not None
    (process,) = psutil.Process(server.pid).children()
    return process


def client_of(server: ServerManager, gguf: Path) -> LlamafileClient:
    client = LlamafileClient(gguf, server.client_base_url)
    client.hosted_by(server.host)
    return client


async def say_hello(client: LlamafileClient) -> None:
    answer = await client.send(HELLO, passthrough={"max_tokens": 8})
    assert isinstance(answer, TextResponse | list)


async def gone(processes: list[psutil.Process]) -> bool:
    return (await asyncio.to_thread(psutil.wait_procs, processes, 30))[1] == []


async def test_a_backend_from_setup_to_stop(gguf: Path, tmp_path: Path) -> None:
    server, context = await setup_backend("llamaserver", gguf_path=gguf, port=0)
    try:
        assert context.budget_tokens == await server.get_server_context() == 8192
        assert await server.is_healthy()
        assert (await server.query_props())["model_path"] == str(gguf)
        processes = [psutil.Process(server.pid), server_process(server)]
        client = client_of(server, gguf)
        await say_hello(client)
        await client.aclose()
    finally:
        await server.stop()

    assert await gone(processes)
    assert not await server.is_healthy()
    assert server.log_path is not None
    assert server.log_path.stat().st_size > 0
    assert launches(tmp_path) == [["-m", str(gguf), "-ngl", "999", "--port", str(server.port), "--jinja"]]


async def test_a_killed_server_is_started_anew_and_the_next_request_succeeds(gguf: Path) -> None:
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=gguf)
    client = client_of(server, gguf)
    try:
        await say_hello(client)
        first = server_process(server)
        first.kill()
        await say_hello(client)  # no pause: the death may not even be known yet

        second = server_process(server)
        assert second.pid != first.pid
        assert await server.is_healthy()
    finally:
        await client.aclose()
        await server.stop()
    assert await gone([first, second])


async def test_requests_wait_while_the_server_is_started_anew(gguf: Path) -> None:
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=gguf)
    client = client_of(server, gguf)
    try:
        server_process(server).kill()
        await asyncio.gather(*[say_hello(client) for _ in range(4)])
    finally:
        await client.aclose()
        await server.stop()


async def test_tools_are_called_with_a_template_for_them_and_without(gguf: Path) -> None:
    server = ServerManager("llamaserver", 0)
    for flags, native in (((), False), (("--chat-template-file", str(TEMPLATE)), True)):
        await server.start(gguf_path=gguf, extra_flags=flags)
        client = client_of(server, gguf)
        try:
            assert (await client.capabilities()).native_tools is native
            answered = await constrained_attempt(
                client, QUESTION, TOOLS, {"max_tokens": 32, "temperature": 0}
            )
            (call,) = answered.response
            assert call.tool == "get_weather"
            assert isinstance(call.args["city"], str)
        finally:
            await client.aclose()
    await server.stop()


@pytest.mark.parametrize(
    ("options", "tokens", "flags"),
    [
        pytest.param({"budget_mode": "manual", "manual_tokens": 2048}, 2048, [["-c", "2048"]], id="manual"),
        pytest.param({"budget_mode": "forge-fast"}, 4096, [[], ["-c", "4096"]], id="half"),
        pytest.param(
            {"budget_mode": "manual", "manual_tokens": 4096, "n_slots": 2},
            2048,
            [["-c", "4096", "--parallel", "2"]],
            id="divided among slots",
        ),
        pytest.param(
            {
                "budget_mode": "manual", "manual_tokens": 4096, "n_slots": 2, "kv_unified": True,
                "cache_type_k": "q8_0", "cache_type_v": "q8_0",
            },
            4096,
            [["-c", "4096", "--cache-type-k", "q8_0", "--cache-type-v", "q8_0", "--parallel", "2", "--kv-unified"]],
            id="shared by slots",
        ),
    ],
)  # fmt: skip
async def test_budgets(gguf: Path, tmp_path: Path, options: dict, tokens: int, flags: list) -> None:
    server = ServerManager("llamaserver", 0)
    try:
        assert await server.start_with_budget(gguf_path=gguf, **options) == tokens
    finally:
        await server.stop()

    assert [words[words.index("--jinja") + 1 :] for words in launches(tmp_path)] == flags


async def test_the_same_launch_again_does_nothing_and_a_restart_does(gguf: Path, tmp_path: Path) -> None:
    server = ServerManager("llamaserver", 0)
    try:
        await server.start(gguf_path=gguf)
        first = server.pid
        await server.start(gguf_path=gguf)
        assert server.pid == first
        client = client_of(server, gguf)
        await server.restart()
        assert server.pid != first
        await say_hello(client)  # at the address that it knows
        await client.aclose()
    finally:
        await server.stop()
    assert len(launches(tmp_path)) == 2


async def test_a_foreign_server_on_the_port_is_refused(
    gguf: Path, tmp_path: Path, embedded_server: EmbeddedServer
) -> None:
    port = int(embedded_server.base_url.rpartition(":")[2])
    server = ServerManager("llamaserver", port)

    with pytest.raises(ServerStartError, match=str(port)):
        await server.start(gguf_path=gguf)

    assert not await server.is_healthy()
    assert not (tmp_path / "launches").exists()
    assert embedded_server.alive


async def test_a_bad_model_is_said_at_once(gguf: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"no model at all")

    with pytest.raises(ServerStartError) as caught:
        await ServerManager("llamaserver", 0).start(gguf_path=bad)

    assert str(bad) in str(caught.value)
    assert "not a GGUF file" in str(caught.value)
    assert caught.value.log


OWNER = """
import asyncio, json, sys
from forge import ServerManager

async def main():
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=sys.argv[1])
    print(server.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_no_server_is_left_when_forge_is_ended(gguf: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", OWNER, str(gguf)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        guard = psutil.Process(int(owner.stdout.readline()))
        family = [guard, *guard.children(recursive=True)]
        owner.send_signal(number)
        owner.wait()

    assert len(family) == 2
    assert psutil.wait_procs(family, timeout=30)[1] == []
