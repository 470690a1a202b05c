"""The embedded model server, really run."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from forge import embedded
from forge.embedded import store
from forge.embedded.launch import EmbeddedServer
from forge.embedded.models import DEFAULT_MODEL, MODELS
from forge.errors import EmbeddedModelError, ServerStartError

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


async def get(server: EmbeddedServer, path: str) -> Any:
    async with aiohttp.ClientSession() as session, session.get(server.base_url + path) as response:
        response.raise_for_status()
        return await response.json()


async def post(server: EmbeddedServer, path: str, body: dict[str, Any]) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.base_url + path, json=body) as response,
    ):
        response.raise_for_status()
        return await response.json()


async def test_our_template_makes_it_a_tool_calling_server(embedded_server: EmbeddedServer) -> None:
    properties = await get(embedded_server, "/props")

    abilities = properties["chat_template_caps"]
    assert abilities["supports_tools"]
    assert abilities["supports_tool_calls"]
    assert abilities["supports_parallel_tool_calls"]
    assert abilities["supports_system_role"]
    assert properties["default_generation_settings"]["n_ctx"] == embedded_server.context_length


async def test_the_models_own_template_knows_no_tools(toolless_server: EmbeddedServer) -> None:
    properties = await get(toolless_server, "/props")

    assert not properties["chat_template_caps"]["supports_tools"]


async def test_the_template_renders_a_whole_conversation(embedded_server: EmbeddedServer) -> None:
    call = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Oslo and Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", **call}, {"id": "2", **call}]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "tool", "tool_call_id": "2", "content": "sun"},
    ]

    rendered = await post(embedded_server, "/apply-template", {"messages": messages, "tools": [TOOL]})

    prompt: str = rendered["prompt"]
    assert prompt.startswith("<|im_start|>system\nBe brief.")
    assert (
        prompt.count('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>') == 2
    )
    assert prompt.endswith(
        "<|im_start|>user\n<tool_response>\nrain\n</tool_response>\n<tool_response>\nsun\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert json.dumps(TOOL["function"]["name"]) in prompt


async def test_a_history_only_grows_at_its_end(embedded_server: EmbeddedServer) -> None:
    """The prompt cache keeps what two prompts have in common at their beginning."""
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    longer = [*messages, {"role": "user", "content": "And now?"}]

    prompts = []
    for history in (messages[:1], longer):
        rendered = await post(embedded_server, "/apply-template", {"messages": history, "tools": [TOOL]})
        prompts.append(rendered["prompt"])

    assert prompts[1].startswith(prompts[0])


async def test_it_answers(embedded_server: EmbeddedServer) -> None:
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}

    answer = await post(embedded_server, "/v1/chat/completions", body)

    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] <= 8


async def test_another_web_page_may_not_talk_to_it(embedded_server: EmbeddedServer) -> None:
    headers = {"Origin": "https://example.com"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(embedded_server.base_url + "/props", headers=headers) as response,
    ):
        allowed = response.headers.get("Access-Control-Allow-Origin")

    assert allowed not in {"*", "https://example.com"}


async def test_a_taken_port_is_said_at_once(embedded_installed: None) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]

        with pytest.raises(ServerStartError, match=str(port)):
            await embedded.start(port=port)


async def test_a_broken_model_file_is_said_at_once(
    embedded_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MODELS[DEFAULT_MODEL]
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    with (tmp_path / "models" / model.file_name).open("wb") as file:
        file.truncate(model.size)  # the right size, and nothing in it

    with pytest.raises(EmbeddedModelError, match="damaged") as caught:
        await embedded.start()

    assert "install" in caught.value.hint
    failed_start = caught.value.__context__
    assert isinstance(failed_start, ServerStartError)
    assert model.file_name in failed_start.log


async def test_a_missing_model_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp", reason="needs the embedded extra")
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))

    with pytest.raises(EmbeddedModelError) as caught:
        await embedded.start()

    assert store.install_command(MODELS[DEFAULT_MODEL]) in caught.value.hint


def test_a_killed_owner_leaves_no_server(embedded_installed: None) -> None:
    source = (
        "import asyncio, forge.embedded\n"
        "async def main():\n"
        "    server = await forge.embedded.start(threads=1)\n"
        "    print(server.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        guard = psutil.Process(int(owner.stdout.readline()))
        family = [guard, *guard.children(recursive=True)]
        owner.send_signal(signal.SIGKILL)
        owner.wait()

    assert len(family) == 2
    assert psutil.wait_procs(family, timeout=30)[1] == []


def test_the_command_that_serves_ends_well_when_it_is_interrupted(embedded_installed: None) -> None:
    command = [sys.executable, "-m", "forge.embedded", "serve", "--port", "0", "--threads", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        try:
            assert "http://127.0.0.1:" in serving.stderr.readline()
            serving.send_signal(signal.SIGINT)
            assert serving.stderr.read().strip() == ""
            assert serving.wait(30) == 0
        finally:
            serving.kill()


async def test_the_server_ends_with_its_context(embedded_installed: None) -> None:
    async with await embedded.start(threads=1) as server:
        processes = psutil.Process(server.pid).children(recursive=True)
        assert server.alive
        line = processes[0].cmdline()
        assert line[line.index("--predict") + 1] == str(MODELS[DEFAULT_MODEL].answer_limit)

    assert not server.alive
    gone, alive = await asyncio.to_thread(psutil.wait_procs, processes, 30)
    assert (len(gone), alive) == (1, [])


async def test_an_answer_without_a_limit_of_its_own_has_the_servers(embedded_installed: None) -> None:
    body = {"messages": [{"role": "user", "content": "Tell me a long story."}]}
    async with await embedded.start(threads=1, answer_length=5) as server:
        answer = await post(server, "/v1/chat/completions", body)

    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 5
