"""The command as a process: exit codes, one clear line, signals, and nothing left behind."""

import asyncio
import json
import os
import signal
import sys

import aiohttp
import psutil
import pytest
from servers.commands import STAND_IN, put_on_path
from servers.ports import free_port, refusing_port
from servers.proxy_process import CHAT, SOURCE, ended, launch, running, said
from servers.scripted import Gate, Script, ScriptedServer, error, stream_text, whole_text

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param([], "--backend-url", id="nothing-given"),
        pytest.param(["--backend-url", "notaurl"], "--backend-url", id="no-url"),
        pytest.param(["--backend-url", "http://h", "--max-retries", "-1"], "--max-retries", id="range"),
        pytest.param(["--backend-url", "http://h", "--max-retries", "x"], "--max-retries", id="type"),
        pytest.param(["--backend-url", "http://h", "--backend", "nope"], "--backend", id="choice"),
        pytest.param(["--backend-u", "http://h"], "--backend-u", id="abbreviation"),
        pytest.param(
            ["--backend-url", "http://h", "--serialize", "--max-concurrent", "2"],
            "serialize",
            id="contradiction",
        ),
        pytest.param(["--backend-url", "http://h", "extra"], "extra", id="argument"),
        pytest.param(["--backend-url", "http://h", "--host", "0.0.0.0"], "--allow-anonymous", id="exposed"),
    ],
)
async def test_bad_flags_cost_one_line_and_exit_code_2(arguments, named):
    code, out, err = await ended(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert named in err


async def test_what_the_backend_can_do_is_one_line_of_the_log():
    async with ScriptedServer() as backend, running("--backend-url", backend.url) as (process, _):
        line = await said(process, b"backend at")
    assert f"{backend.url}/v1: scripted, 4096 tokens, 1 slot, native tools".encode() in line


async def test_a_dead_backend_costs_one_line_and_exit_code_1():
    with refusing_port() as port:
        url = f"http://user:s3cret@127.0.0.1:{port}"
        code, out, err = await ended("--backend-url", url, "--port", "0")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "s3cret" not in err


async def test_a_taken_port_costs_one_line_and_exit_code_1():
    async with ScriptedServer() as backend, ScriptedServer() as other:
        code, out, err = await ended("--backend-url", backend.url, "--port", str(other.port))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert str(other.port) in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_the_request_in_flight_finish(number):
    gate = Gate()
    async with (
        ScriptedServer([stream_text(["Hel", gate, "lo"])]) as backend,
        running("--backend-url", backend.url) as (process, url),
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json={**CHAT, "stream": True}) as response,
    ):
        received = await response.content.readany()
        process.send_signal(number)
        await said(process, b"Shutting down")
        gate.set()
        received += await response.content.read()
        assert received.endswith(b"data: [DONE]\n\n")
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_a_second_signal_ends_at_once():
    async with (
        ScriptedServer([stream_text(["Hel", Gate()])]) as backend,
        running("--backend-url", backend.url) as (process, url),
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json={**CHAT, "stream": True}) as response,
    ):
        await response.content.readany()
        process.send_signal(signal.SIGINT)
        await said(process, b"Shutting down")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 130  # the drain may take 30 seconds
        assert b"Traceback" not in await process.stderr.read()
        await asyncio.wait_for(backend.chats[0].gone.wait(), 30)


async def test_at_a_second_signal_a_request_without_an_answer_gets_one():
    async with (
        ScriptedServer([Script([Gate()])]) as backend,
        running("--backend-url", backend.url) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        asked = asyncio.create_task(session.post(f"{url}/v1/chat/completions", json=CHAT))
        await backend.chat()
        process.send_signal(signal.SIGINT)
        await said(process, b"Shutting down")
        process.send_signal(signal.SIGINT)
        async with await asyncio.wait_for(asked, 20) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (503, "shutting_down")
        assert await asyncio.wait_for(process.wait(), 20) == 130


async def test_a_second_signal_kills_a_server_that_does_not_end(llama_server):
    arguments = ("--backend", "llamaserver", "--gguf", "m.gguf", "--backend-port", "0")
    async with running(*arguments, **llama_server, FORGE_TEST_STUBBORN="1") as (process, _):
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        await said(process, b"Shutting down")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 9) == 130  # it would be asked politely for ten
        assert not {b"Traceback", b"error:"} & set((await process.stderr.read()).split())
        assert (await asyncio.to_thread(psutil.wait_procs, family, 30))[1] == []


async def test_requests_that_outlast_the_drain_are_told_and_the_exit_is_orderly(llama_server, tmp_path):
    arguments = (
        "--backend",
        "llamaserver",
        "--gguf",
        "m.gguf",
        "--backend-port",
        "0",
        "--drain-timeout",
        "0.2",
    )
    async with (
        running(*arguments, **llama_server) as (process, url),
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json={**CHAT, "stream": True}) as response,
    ):
        family = psutil.Process(process.pid).children(recursive=True)
        received = await response.content.readany()
        process.terminate()
        received += await response.content.read()
        last = json.loads(received.decode().strip().split("\n")[-1].removeprefix("data: "))
        assert last["error"]["code"] == "shutting_down"
        assert await asyncio.wait_for(process.wait(), 60) == 0
        assert (await asyncio.to_thread(psutil.wait_procs, family, 30))[1] == []


async def test_idle_connections_do_not_hold_up_the_end():
    async with (
        ScriptedServer([whole_text("a")]) as backend,
        running("--backend-url", backend.url) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        async with session.post(f"{url}/v1/chat/completions", json=CHAT) as response:
            assert response.status == 200
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_waiting_for_a_backend_and_stopping_meanwhile():
    process = await launch("--backend-url", f"http://127.0.0.1:{free_port()}", "--port", "0", "--wait")
    try:
        assert b"waiting" in await asyncio.wait_for(process.stderr.readline(), 60)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_waiting_ends_when_the_backend_comes():
    port = free_port()
    process = await launch("--backend-url", f"http://127.0.0.1:{port}", "--port", "0", "--wait")
    try:
        assert b"waiting" in await asyncio.wait_for(process.stderr.readline(), 60)
        async with ScriptedServer(port=port):
            assert b"running at" in await asyncio.wait_for(process.stdout.readline(), 60)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 20) == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_the_key_from_the_environment_goes_to_the_backend_and_nowhere_else():
    async with (
        ScriptedServer([whole_text("a")]) as backend,
        running("--backend-url", backend.url, "--allow-anonymous", FORGE_BACKEND_API_KEY="s3cret") as (
            process,
            url,
        ),
        aiohttp.ClientSession() as session,
    ):
        async with session.post(f"{url}/v1/chat/completions", json=CHAT) as response:
            await response.read()
        process.terminate()
        out, err = await process.communicate()
        assert backend.chats[0].headers["authorization"] == "Bearer s3cret"
    assert b"s3cret" not in out + err


async def test_no_secret_is_written_or_told_whatever_fails():
    hidden = ("s3cret", "t0ken", "c4ller")
    async with (
        ScriptedServer(
            [whole_text("a"), error(500, "no luck", "server_error"), *[Script([], raw=True)] * 2]
        ) as backend,
        running(
            "--backend-url",
            backend.url.replace("//", "//user:s3cret@") + "/v1?key=t0ken",
            "--log-level",
            "debug",
        ) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        told = []

        async def ask(**headers):
            async with session.post(f"{url}/v1/chat/completions", json=CHAT, headers=headers) as response:
                told.append(f"{response.headers} {await response.text()}")
                return response.status

        assert [await ask() for _ in range(3)] == [200, 500, 502]
        assert await ask(authorization="Bearer c4ller") == 400  # beside the one in the URL
        async with session.get(f"{url}/v1/models") as response:
            told.append(await response.text())
        process.terminate()
        out, err = await process.communicate()
    said = " ".join(told) + out.decode() + err.decode()
    assert [secret for secret in hidden if secret in said] == []


async def test_a_blank_key_in_the_environment_is_none():
    async with (
        ScriptedServer() as backend,
        running("--backend-url", backend.url, FORGE_BACKEND_API_KEY=" ") as (process, _),
    ):
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_what_is_printed_tells_how_to_use_it():
    async with (
        ScriptedServer() as backend,
        running("--backend-url", f"{backend.url}/v1", "--backend", "llamaserver") as (process, url),
    ):
        process.terminate()
        out, _ = await process.communicate()
    text = out.decode()
    assert f"{url}/v1" in text
    assert f"llamaserver at {backend.url}" in text
    assert "4,096 tokens" in text
    assert "\x1b" not in text


async def test_requests_cannot_write_log_lines():
    async with (
        ScriptedServer() as backend,
        running("--backend-url", backend.url, "--verbose") as (process, url),
    ):
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /x%0a12:00:00%20fake%1b[31m HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        await reader.read()
        writer.close()
        process.terminate()
        _, err = await process.communicate()
    assert b"\x1b" not in err
    assert b"\n12:00:00 fake" not in err


@pytest.mark.parametrize(
    "closing", [pytest.param(">&-", id="output"), pytest.param("<&- >&- 2>&-", id="everything")]
)
async def test_closed_standard_streams_do_not_matter(closing):
    port = free_port()
    async with ScriptedServer([whole_text("Hello")]) as backend:
        command = f"{sys.executable} -m forge.proxy --backend-url {backend.url} --port {port}"
        process = await asyncio.create_subprocess_shell(
            f"exec {command} {closing}", env={**os.environ, "PYTHONPATH": SOURCE}
        )
        try:
            assert "Hello" in await _answer_of(port)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 60) == 0
        finally:
            if process.returncode is None:
                process.kill()


async def _answer_of(port):
    """What the proxy on ``port`` answers to a chat; until it listens, connections are refused."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(30):
        while True:
            try:
                async with session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=CHAT) as answer:
                    return await answer.text()
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.05)


async def test_a_name_that_the_terminal_has_no_letters_for():
    async with (
        ScriptedServer() as backend,
        running("--backend-url", backend.url, "--model", "mödel", PYTHONIOENCODING="ascii") as (process, _),
    ):
        process.terminate()
        out, _ = await process.communicate()
    assert b"m\\xf6del" in out


async def test_a_web_server_that_is_no_model_server_is_pointed_out():
    async with ScriptedServer(pages={}) as backend, running("--backend-url", backend.url) as (process, _):
        process.terminate()
        _, err = await process.communicate()
    assert b"may be no model server" in err


@pytest.fixture
def llama_server(tmp_path):
    """A stand-in called llama-server: the environment with it on PATH."""
    put_on_path(tmp_path / "bin", "llama-server", STAND_IN)
    return {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "FORGE_CACHE_DIR": str(tmp_path / "cache"),
    }


async def test_a_server_that_cannot_start_is_told_at_once_with_its_last_words(llama_server, tmp_path):
    gguf = tmp_path / "bad.gguf"
    gguf.write_bytes(b"nothing")
    arguments = ("--backend", "llamaserver", "--gguf", str(gguf), "--backend-port", "0", "--port", "0")

    code, out, err = await ended(*arguments, **llama_server, FORGE_TEST_FAIL="out of memory")

    assert (code, out) == (1, "")
    first, *log = err.splitlines()
    assert "out of memory" in first
    assert str(gguf) in first
    assert any("error: out of memory" in line for line in log)


async def test_a_missing_program_is_told_at_once(tmp_path):
    code, _, err = await ended(
        "--backend", "llamaserver", "--gguf", "m.gguf", "--port", "0", PATH=str(tmp_path), FORGE_CACHE_DIR=str(tmp_path)
    )  # fmt: skip

    assert (code, err.count("\n")) == (1, 1)
    assert "llama-server" in err


async def test_a_strangers_port_is_not_taken_over(llama_server, tmp_path):
    async with ScriptedServer() as stranger:
        port = stranger.url.rpartition(":")[2].partition("/")[0]
        code, _, err = await ended(
            "--backend", "llamaserver", "--gguf", "m.gguf", "--backend-port", port, "--port", "0", **llama_server
        )  # fmt: skip

    assert code == 1
    assert f"port {port} is taken" in err


async def test_the_servers_flags_and_budget(llama_server, tmp_path):
    launches = tmp_path / "launches"
    arguments = [
        *("--backend", "llamaserver", "--gguf", "m.gguf", "--backend-port", "0"),
        *("--budget-mode", "manual", "--budget-tokens", "2048", "--extra-flags", "-t", "3"),
    ]
    async with running(*arguments, **llama_server, FORGE_TEST_LAUNCHES=str(launches)) as (process, _):
        process.terminate()
        out, err = await asyncio.wait_for(process.communicate(), 60)

    assert process.returncode == 0
    (words,) = map(json.loads, launches.read_text().splitlines())
    assert words[-5:] == ["--jinja", "-t", "3", "-c", "2048"]
    assert "2,048 tokens" in out.decode()
    assert "budget of 2,048 tokens" in err.decode()
    assert str(tmp_path / "cache") in out.decode()


async def test_a_vllm_of_the_proxys_own_listens_on_loopback(llama_server, tmp_path):
    put_on_path(tmp_path / "bin", "vllm", STAND_IN)
    launches = tmp_path / "launches"
    arguments = ["--backend", "vllm", "--model-path", "org/model", "--backend-port", "0"]

    async with running(*arguments, **llama_server, FORGE_TEST_LAUNCHES=str(launches)) as (process, _):
        process.terminate()
        await asyncio.wait_for(process.communicate(), 60)

    (words,) = map(json.loads, launches.read_text().splitlines())
    assert words[1:3] == ["serve", "org/model"]
    assert words[words.index("--host") + 1] == "127.0.0.1"
    (log,) = (tmp_path / "cache" / "logs").glob("vllm-*")
    assert "starting" in log.read_text()


async def test_a_signal_while_a_model_is_loaded_ends_both(llama_server, tmp_path):
    launches = tmp_path / "launches"
    os.mkfifo(launches)  # whoever reads it waits for the server's start
    settings = {"FORGE_TEST_LAUNCHES": str(launches), "FORGE_TEST_LISTEN": "0"}
    process = await launch(
        "--backend", "llamaserver", "--gguf", "m.gguf", "--backend-port", "0", "--port", "0", **llama_server, **settings
    )  # fmt: skip
    await asyncio.wait_for(asyncio.to_thread(launches.read_text), 60)
    family = psutil.Process(process.pid).children(recursive=True)

    process.terminate()
    out, _ = await asyncio.wait_for(process.communicate(), 60)

    assert (process.returncode, out) == (0, b"")
    assert family
    assert (await asyncio.to_thread(psutil.wait_procs, family, 30))[1] == []


async def test_with_json_every_line_is_json():
    async with ScriptedServer([whole_text("a")]) as backend:
        process = await launch("--backend-url", backend.url, "--port", "0", "--log-format", "json")
        try:
            started = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{started['url']}/v1/chat/completions", json=CHAT) as response,
            ):
                assert response.status == 200
            process.terminate()
            out, err = await asyncio.wait_for(process.communicate(), 60)
        finally:
            if process.returncode is None:
                process.kill()
    assert (process.returncode, out) == (0, b"")
    lines = [json.loads(line) for line in err.splitlines()]
    [request] = [line for line in lines if "request" in line]
    assert (request["status"], request["prompt_tokens"], request["level"]) == (200, 20, "info")
