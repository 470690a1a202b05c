"""A real vLLM on the CPU, started and ended by Forge's own managed mode: ``make test-vllm``."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import psutil
import pytest
from servers.running import running_proxy

from forge import BackendError, ChunkType, ServerManager, TextResponse, VLLMClient
from forge.core.constrained_attempt import constrained_attempt
from forge.embedded import launch as embedded_launch
from forge.embedded import store
from forge.embedded.models import DEFAULT_MODEL, MODELS
from forge.serving.paths import cache_dir
from forge.tools import tool

pytestmark = [pytest.mark.anyio, pytest.mark.vllm, pytest.mark.timeout(900)]

SERVERS = Path(__file__).parents[1] / "servers"
TEMPLATE = Path(embedded_launch.__file__).with_name("chatml_tools.jinja")
CONTEXT = 2048
FLAGS = (
    *("--host", "127.0.0.1", "--enforce-eager", "--served-model-name", "smollm2"),
    *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
)
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
HELLO = [{"role": "user", "content": "Say hello."}]
QUESTION = [{"role": "user", "content": "Weather in Oslo?"}]
SHORT = {"max_tokens": 12, "temperature": 0}
ROOMY = {"max_tokens": 200, "temperature": 0}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "enum": ["Oslo", "Rome"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 7},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}


@tool
def get_weather(city: str, days: int) -> str:
    """Current weather of a city."""
    return f"{city} {days}"


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of the environment that vLLM is installed in."""
    path = os.environ.get("FORGE_TEST_VLLM")
    if not path:
        pytest.skip("needs a vLLM for the CPU: make test-vllm")
    return str(Path(path).absolute())


@pytest.fixture(scope="module")
def model(python: str, embedded_installed: None) -> Path:
    """The embedded model as vLLM reads it; made once and kept with the models."""
    folder = cache_dir() / "tests" / "smollm2-vllm"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        source = store.model_path(MODELS[DEFAULT_MODEL])
        words = [python, str(SERVERS / "convert_model.py"), str(source), str(TEMPLATE), str(folder)]
        subprocess.run(words, check=True, timeout=600)
    return folder


@pytest.fixture(scope="module")
def command(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """``vllm`` on PATH; logs go to a folder of the test's."""
    folder = tmp_path_factory.mktemp("vllm")
    vllm = folder / "vllm"
    vllm.write_text(f'#!/bin/sh\nexec nice "{python}" "{SERVERS / "vllm_server.py"}" "$@"\n')
    vllm.chmod(0o755)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        environment.setenv("FORGE_CACHE_DIR", str(folder / "cache"))
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        yield folder


@pytest.fixture(scope="module")
async def server(model: Path, command: Path) -> AsyncIterator[ServerManager]:
    manager = ServerManager("vllm", 0)
    tokens = await manager.start_with_budget(
        model_path=str(model), extra_flags=FLAGS, budget_mode="manual", manual_tokens=CONTEXT
    )
    assert tokens == CONTEXT
    assert manager.pid is not None
    processes = psutil.Process(manager.pid).children(recursive=True)
    yield manager
    await manager.stop()
    assert (await asyncio.to_thread(psutil.wait_procs, processes, 30))[1] == []


@pytest.fixture
async def client(server: ServerManager) -> AsyncIterator[VLLMClient]:
    client = VLLMClient("org/another-name", base_url=server.client_base_url)
    yield client
    await client.aclose()


async def test_it_says_what_it_is(server: ServerManager, client: VLLMClient) -> None:
    able = await client.capabilities()

    assert (able.model, able.context_length, able.native_tools) == ("smollm2", CONTEXT, True)
    assert await client.get_context_length() == CONTEXT
    assert await client.get_served_model_name() == "smollm2"
    assert (await client.count_tokens("one two three") or 0) >= 3
    assert await server.is_healthy()
    assert server.log_path is not None
    assert "vLLM" in server.log_path.read_text()


async def test_text_whole_and_streamed(client: VLLMClient) -> None:
    whole = await client.send(HELLO, passthrough=SHORT)
    usage = client.last_usage[0]
    chunks = [chunk async for chunk in client.send_stream(HELLO, passthrough=SHORT)]

    assert isinstance(whole, TextResponse)
    assert whole.content
    assert (usage.completion_tokens, usage.total_tokens) == (12, usage.prompt_tokens + 12)
    assert chunks[-1].type is ChunkType.FINAL
    assert chunks[-1].response == whole
    assert len(chunks) > 2
    assert client.last_usage[0] == usage


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_forced_call_is_kept(client: VLLMClient, *, streamed: bool) -> None:
    strict = {**WEATHER, "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]
    options = {**ROOMY, "tool_choice": "required"}
    if streamed:
        stream = client.send_stream(QUESTION, passthrough=options, raw_openai_tools=[strict])
        answer = [chunk async for chunk in stream][-1].response
    else:
        answer = await client.send(QUESTION, passthrough=options, raw_openai_tools=[strict])

    assert isinstance(answer, list)
    assert answer[0].tool == "get_weather"
    assert answer[0].args["city"] in ("Oslo", "Rome")
    assert 1 <= answer[0].args["days"] <= 7


async def test_an_attempt_is_held_to_the_schemas(client: VLLMClient) -> None:
    answered = await constrained_attempt(client, QUESTION, [get_weather], ROOMY)

    (call,) = answered.response
    assert call.tool == "get_weather"
    assert isinstance(call.args["city"], str)
    assert isinstance(call.args["days"], int)


async def test_errors_are_typed(client: VLLMClient) -> None:
    with pytest.raises(BackendError) as caught:
        await client.send([{"role": "user", "content": "word " * 3000}], passthrough=SHORT)

    assert caught.value.status_code == 400
    assert str(CONTEXT) in str(caught.value)


async def test_the_proxy_in_front_of_it(server: ServerManager) -> None:
    body = {"model": "anything", "messages": QUESTION, "tools": [WEATHER], "tool_choice": "required", **ROOMY}
    async with (
        running_proxy(server.client_base_url, backend="vllm") as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/chat/completions", json=body) as response,
    ):
        answer = await response.json()

    assert response.status == 200
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
