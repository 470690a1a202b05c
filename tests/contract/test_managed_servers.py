"""Managed mode with stand-ins for the servers, as real child processes: every kind, every failure, two machines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import psutil
import pytest
from servers.commands import STAND_IN, put_on_path
from servers.ports import free_port

from forge import ServerManager, setup_backend
from forge.clients.llamafile import LlamafileClient
from forge.clients.ollama import OllamaClient
from forge.errors import BackendUnreachableError, BudgetResolutionError, ServerStartError
from forge.rpc import LlamaCppRpcConfig, LlamaCppRpcWorkerConfig

pytestmark = pytest.mark.anyio


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is first on PATH, with stand-ins in it."""
    folder = tmp_path / "bin"
    for name in ("llama-server", "vllm"):
        put_on_path(folder, name, STAND_IN)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FORGE_TEST_LAUNCHES", str(tmp_path / "launches"))
    return folder


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"")
    return path


def launches(tmp_path: Path) -> list[list[str]]:
    """The words of each launch, without program and port."""
    started = []
    for line in (tmp_path / "launches").read_text().splitlines():
        words = json.loads(line)[1:]
        if "--port" in words:
            place = words.index("--port")
            del words[place : place + 2]
        started.append(words)
    return started


async def test_vllm(commands: Path, tmp_path: Path) -> None:
    server, context = await setup_backend("vllm", model_path="org/model", port=0, budget_mode="forge-fast")
    try:
        assert context.budget_tokens == 4096
        assert (await server.query_props())["data"][0]["id"] == "org/model"
    finally:
        await server.stop()

    assert launches(tmp_path) == [["serve", "org/model"], ["serve", "org/model", "--max-model-len", "4096"]]


async def test_the_newest_llamafile_beside_the_model(commands: Path, tmp_path: Path, gguf: Path) -> None:
    server = ServerManager("llamafile", 0)
    with pytest.raises(FileNotFoundError, match="No llamafile runtime"):
        await server.start(gguf_path=gguf)
    for name in ("llamafile-0.9.2", "llamafile-0.9.3"):
        put_on_path(tmp_path, name, STAND_IN)

    await server.start(gguf_path=gguf)
    try:
        (process,) = psutil.Process(server.pid).children()
    finally:
        await server.stop()

    assert launches(tmp_path) == [["--server", "--nobrowser", "-m", str(gguf), "-ngl", "999", "--jinja"]]
    assert not process.is_running()


@pytest.mark.skipif(sys.platform == "win32", reason="shells begin such programs on POSIX systems")
async def test_a_program_that_only_a_shell_can_begin(commands: Path, tmp_path: Path, gguf: Path) -> None:
    with_shebang = put_on_path(tmp_path, "llamafile-1", STAND_IN)
    with_shebang.write_text(with_shebang.read_text().partition("\n")[2])

    server = ServerManager("llamafile", 0)
    await server.start(gguf_path=gguf)
    healthy = await server.is_healthy()
    await server.stop()

    assert healthy


async def test_a_missing_program_is_said_at_once(
    gguf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ServerStartError, match="llama-server") as caught:
        await ServerManager("llamaserver", 0).start(gguf_path=gguf)

    assert "PATH" in caught.value.hint


async def test_a_failed_start_has_the_cause_the_log_and_the_model(
    commands: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_TEST_FAIL", "out of memory")
    server = ServerManager("llamaserver", 0)

    with pytest.raises(ServerStartError, match="out of memory") as caught:
        await server.start(gguf_path=gguf)

    assert isinstance(caught.value, RuntimeError)
    assert "not a GGUF file" in str(caught.value)
    assert "error: out of memory" in caught.value.log
    with pytest.raises(ServerStartError):
        await server.restart()


class Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"default_generation_settings": {"n_ctx": 1}, "model_path": "/x/stranger.gguf"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, template: str, *args: object) -> None:
        pass


@pytest.fixture
def stranger():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_stranger_on_the_port_is_named(
    commands: Path, gguf: Path, tmp_path: Path, stranger: int
) -> None:
    with pytest.raises(ServerStartError, match=f"port {stranger}.*stranger"):
        await ServerManager("llamaserver", stranger).start(gguf_path=gguf)

    assert not (tmp_path / "launches").exists()


async def test_the_answers_of_a_stranger_do_not_make_a_server_ready(
    commands: Path, gguf: Path, stranger: int
) -> None:
    """The race: the stranger takes the port after the look at it. Here our server listens elsewhere all along."""
    from forge.serving.launch_spec import LaunchSpec
    from forge.serving.probe import Address, Probe
    from forge.serving.process import Launch
    from forge.serving.spawn import run

    spec = LaunchSpec(backend="llamaserver", gguf_path=gguf)
    launch = Launch(
        name="llama-server",
        argv=(str(commands / "llama-server"), "--port", str(free_port())),
        log_path=gguf.with_name("log"),
        stdout_too=True,
    )
    probe = Probe("llamaserver", Address(host="127.0.0.1", port=stranger))

    with pytest.raises(ServerStartError, match="another program"):
        await run(launch, spec, probe)
    await probe.aclose()


async def test_a_server_without_progress_is_ended(
    commands: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge.serving.launch_spec import LaunchSpec
    from forge.serving.probe import Address, Probe
    from forge.serving.process import Launch
    from forge.serving.spawn import run

    monkeypatch.setenv("FORGE_TEST_LISTEN", str(free_port()))
    port = free_port()
    launch = Launch(
        name="llama-server",
        argv=(str(commands / "llama-server"), "--port", str(port)),
        log_path=gguf.with_name("log"),
        stdout_too=True,
    )
    probe = Probe("llamaserver", Address(host="127.0.0.1", port=port))

    with pytest.raises(ServerStartError, match="no progress"):
        await run(launch, LaunchSpec(backend="llamaserver", gguf_path=gguf), probe, quiet=1.0)
    await probe.aclose()


async def test_a_context_that_is_not_told(
    commands: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_TEST_CONTEXT", "none")
    server = ServerManager("llamaserver", 0)

    with pytest.raises(BudgetResolutionError):
        await server.start_with_budget(gguf_path=gguf)

    assert not await server.is_healthy()
    await server.start(gguf_path=gguf)
    assert await server.get_server_context() is None
    await server.stop()
    with pytest.raises(BackendUnreachableError):
        await server.query_props()


async def test_a_server_with_a_key_and_an_address_of_its_own(commands: Path, gguf: Path) -> None:
    server = ServerManager("llamaserver", 0)
    flags = ["--api-key", "secret", "--host", "0.0.0.0"]
    await server.start(gguf_path=gguf, extra_flags=flags)
    healthy = await server.is_healthy()
    await server.stop()

    assert healthy
    assert server.client_base_url == f"http://127.0.0.1:{server.port}/v1"


async def test_models_are_looked_up_in_their_folder(commands: Path, gguf: Path, tmp_path: Path) -> None:
    server = ServerManager("llamaserver", 0, models_dir=gguf.parent)
    await server.start(gguf_path=gguf.name)
    await server.stop()

    assert launches(tmp_path)[0][:2] == ["-m", str(gguf)]


async def test_a_budget_is_explained_in_the_log(
    commands: Path, gguf: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "forge.serving")
    server = ServerManager("llamaserver", 0)
    await server.start_with_budget(gguf_path=gguf, budget_mode="manual", manual_tokens=1234)
    await server.stop()

    assert len([line for line in caplog.messages if "1,234 tokens" in line and "free" in line]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"backend": "llamaserver", "model": "x", "gguf_path": "m"}, "does not accept model", id="model"),
        pytest.param({"backend": "llamaserver"}, "requires gguf_path", id="none"),
        pytest.param({"backend": "ollama"}, "requires model", id="ollama"),
        pytest.param({"backend": "ollama", "model": "x", "n_slots": 2}, "n_slots", id="slots"),
        pytest.param({"backend": "vllm", "model_path": "x", "budget_mode": "manual"}, "manual", id="no tokens"),
        pytest.param({"backend": "vllm", "model_path": "x", "budget_mode": "most"}, "most", id="mode"),
        pytest.param({"backend": "x"}, "unsupported backend", id="backend"),
        pytest.param({"backend": "vllm", "model_path": "x", "port": 65536}, "port", id="port"),
        pytest.param({"backend": "vllm", "model_path": "x", "compact_threshold": -1.0}, "threshold", id="threshold"),
    ],
)  # fmt: skip
async def test_what_does_not_go_together_is_said_before_anything_starts(
    commands: Path, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        await setup_backend(**arguments)

    assert not (tmp_path / "launches").exists()


# -- Ollama --------------------------------------------------------------------------------------------------


async def test_ollama_is_attached_and_told_its_context(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(commands, "ollama", STAND_IN)
    monkeypatch.setenv("FORGE_TEST_FAIL", "ends at once")
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{free_port()}")
    client = OllamaClient("qwen3:8b")

    server, context = await setup_backend("ollama", "qwen3:8b", "manual", 12345, client)

    assert (client.num_ctx, context.budget_tokens) == (12345, 12345)
    assert server.client_base_url == f"http://{os.environ['OLLAMA_HOST']}"
    assert not await server.is_healthy()  # it may come later
    await server.stop()
    await server.stop()
    assert launches(tmp_path) == [["stop", "qwen3:8b"]]


class RecordingOllama(BaseHTTPRequestHandler):
    unloaded: ClassVar[list[object]] = []

    def do_GET(self) -> None:
        self.answer(b'{"version": "0.99.0"}')

    def do_POST(self) -> None:
        self.unloaded.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(b"{}")

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, template: str, *args: object) -> None:
        pass


async def test_an_ollama_on_another_machine_is_asked_to_free_its_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no ollama command here
    other = ThreadingHTTPServer(("127.0.0.1", 0), RecordingOllama)
    thread = Thread(target=other.serve_forever)
    thread.start()
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{other.server_address[1]}")
    try:
        server = ServerManager("ollama")
        await server.start("qwen3:8b")
        assert await server.is_healthy()
        assert server.host is None
        await server.stop()
    finally:
        other.shutdown()
        thread.join()
        other.server_close()

    assert RecordingOllama.unloaded == [{"model": "qwen3:8b", "keep_alive": 0}]


# -- llama.cpp on two machines -------------------------------------------------------------------------------


@pytest.fixture
def rpc(commands: Path, tmp_path: Path) -> LlamaCppRpcConfig:
    """A topology whose other machine is this one: ``ssh`` runs what it is given here."""
    ssh = commands / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    worker = LlamaCppRpcWorkerConfig(
        ssh_target="far",
        rpc_host="127.0.0.1",
        executable=str(put_on_path(commands, "rpc-server", STAND_IN)),
        device="CPU",
        rpc_port=free_port(),
        environment=(("GREETING", "good day"),),
    )
    return LlamaCppRpcConfig(
        worker,
        coordinator_executable=str(commands / "llama-server"),
        devices=("RPC0", "CPU"),
        tensor_split=(1.0, 2.0),
        log_directory=tmp_path / "logs",
        startup_timeout=60.0,
    )


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_worker_and_coordinator_live_and_end_together(
    rpc: LlamaCppRpcConfig, gguf: Path, tmp_path: Path
) -> None:
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=gguf, rpc=rpc)
    try:
        assert await server.is_healthy()
        assert listening(rpc.worker.rpc_port)
        assert server.rpc_log_paths == (
            tmp_path / "logs/rpc-worker.log",
            tmp_path / "logs/rpc-coordinator.log",
        )
        assert all(path.exists() for path in server.rpc_log_paths)
    finally:
        await server.stop()

    worker, coordinator = launches(tmp_path)
    assert worker == ["-H", "127.0.0.1", "-p", str(rpc.worker.rpc_port), "-d", "CPU", "-c"]
    assert coordinator[4:] == [*rpc.coordinator_flags(), "--jinja"]
    assert not listening(rpc.worker.rpc_port)
    assert not listening(server.port)


async def test_both_are_started_anew_when_the_worker_dies(
    rpc: LlamaCppRpcConfig, gguf: Path, tmp_path: Path
) -> None:
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=gguf, rpc=rpc)
    try:
        assert server.host is not None
        generation = server.host.generation
        for process in psutil.process_iter(["cmdline"]):
            if str(rpc.worker.rpc_port) in (process.info["cmdline"] or ()) and "guard.py" not in str(
                process.info
            ):
                with contextlib.suppress(psutil.NoSuchProcess):  # one of them may end with another
                    process.kill()
        assert await server.host.recovered(generation)
        assert await server.is_healthy()
    finally:
        await server.stop()

    assert len(launches(tmp_path)) == 4


async def test_a_worker_that_fails_is_said_with_the_logs(
    rpc: LlamaCppRpcConfig, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_TEST_FAIL", "no such device")

    with pytest.raises(ServerStartError, match="no such device") as caught:
        await ServerManager("llamaserver", 0).start(gguf_path=gguf, rpc=rpc)

    assert "rpc-worker.log" in " ".join(caught.value.__notes__)


async def test_a_port_of_the_worker_that_is_taken(rpc: LlamaCppRpcConfig, gguf: Path, tmp_path: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", rpc.worker.rpc_port))
        stranger.listen()

        with pytest.raises(ServerStartError, match=str(rpc.worker.rpc_port)):
            await ServerManager("llamaserver", 0).start(gguf_path=gguf, rpc=rpc)

    assert not (tmp_path / "launches").exists()


async def test_a_client_of_a_stopped_server_is_told(commands: Path, gguf: Path) -> None:
    server = ServerManager("llamaserver", 0)
    await server.start(gguf_path=gguf)
    client = LlamafileClient(gguf, server.client_base_url)
    client.hosted_by(server.host)
    await server.stop()

    with pytest.raises(BackendUnreachableError):
        await asyncio.wait_for(client.send([{"role": "user", "content": "Hi"}]), 30)
    await client.aclose()
