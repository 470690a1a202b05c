"""Another server than llama.cpp's, of other authors: it keeps forced calls, has no ``/props`` and knows one model name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pydantic import BaseModel
from servers.running import running_proxy

from forge import ChunkType, OpenAICompatClient, ToolCall, ToolSpec
from forge.embedded import store
from forge.embedded.models import DEFAULT_MODEL, MODELS
from forge.errors import BackendError
from forge.serving.paths import cache_dir
from forge.serving.ports import free_port
from forge.serving.probe import Address, Patience, Probe, until_ready
from forge.serving.process import Launch, start

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

MODEL = "smollm2-q8_0.gguf"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
QUESTION = [{"role": "user", "content": "What is the weather in Oslo?"}]
FORCED = {"tool_choice": "required", "max_tokens": 64}


class City(BaseModel):
    city: str


TOOLS = [ToolSpec(name="get_weather", description="Current weather of a city", parameters=City)]


@pytest.fixture(scope="module")
def q8(embedded_installed: None) -> Path:
    """The embedded model as that server reads it; made once and kept with the models."""
    program = Path(sys.executable).with_name("dasllama-server")
    if not program.exists() or find_spec("gguf") is None:
        pytest.skip("needs the second server: pip install -r tests/second-server.txt")
    path = cache_dir() / "tests" / MODEL
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        script = Path(__file__).parents[1] / "servers" / "requantize.py"
        source = store.model_path(MODELS[DEFAULT_MODEL])
        subprocess.run([sys.executable, str(script), str(source), str(path)], check=True, timeout=110)
    return path


@pytest.fixture(scope="module")
async def server(q8: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Its root URL."""
    folder = tmp_path_factory.mktemp("second-server")
    port = free_port()
    program = shutil.which("dasllama-server", path=str(Path(sys.executable).parent))
    assert program is not None
    launch = Launch(
        name="dasllama",
        argv=(
            program,
            "-m",
            str(q8),
            "-p",
            str(port),
            *["--ctx", "4096", "-t", "1", "-s", "1", "--gpu", "off"],
        ),
        log_path=folder / "log",
        stdout_too=True,
        environment={"HOME": str(folder)},  # it keeps what it finds out about the machine there
    )
    probe = Probe("vllm", Address(host="127.0.0.1", port=port))
    child, root = await start(launch, lambda child: until_ready(child, probe, Patience(quiet=60.0)))
    async with child:
        yield root.rstrip("/")
    await probe.aclose()


@pytest.fixture
async def client(server: str) -> AsyncIterator[OpenAICompatClient]:
    client = OpenAICompatClient(MODEL, f"{server}/v1")
    yield client
    await client.aclose()


def assert_the_call(answer: Any) -> None:
    (call,) = answer
    assert isinstance(call, ToolCall)
    assert call.tool == "get_weather"
    assert isinstance(call.args["city"], str)


async def test_a_forced_call(client: OpenAICompatClient) -> None:
    assert_the_call(await client.send(QUESTION, TOOLS, passthrough=FORCED))
    assert client.last_usage[0].prompt_tokens > 0


async def test_a_forced_call_streamed(client: OpenAICompatClient) -> None:
    chunks = [chunk async for chunk in client.send_stream(QUESTION, TOOLS, passthrough=FORCED)]

    assert chunks[-1].type is ChunkType.FINAL
    assert_the_call(chunks[-1].response)


async def test_text(client: OpenAICompatClient) -> None:
    answer = await client.send([{"role": "user", "content": "Say hello."}], passthrough={"max_tokens": 8})

    assert answer.content


async def test_another_model_is_an_error_of_the_backend(server: str) -> None:
    client = OpenAICompatClient("no-such-model", f"{server}/v1")

    with pytest.raises(BackendError) as caught:
        await client.send(QUESTION, passthrough={"max_tokens": 4})

    await client.aclose()
    assert 400 <= caught.value.status_code < 500


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_through_the_proxy(server: str, stream: bool) -> None:
    body = {"model": MODEL, "messages": QUESTION, "tools": [WEATHER], **FORCED, "stream": stream}
    async with (
        running_proxy(server) as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/chat/completions", json=body) as response,
    ):
        assert response.status == 200
        text = await response.text()

    assert "get_weather" in text
    assert '"finish_reason":"tool_calls"' in text.replace(" ", "")
