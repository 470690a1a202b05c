"""Recorded answers of real servers, replayed over a real socket in random pieces and read by the client they are for.

``tests/fixtures/`` holds the bytes as recorded (JSON without its indentation), by server, then by model and template.
``anthropic_*`` are answers of a server's Messages API, ``v1_*`` of Ollama's OpenAI-compatible one.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from servers.scripted import Script, ScriptedServer

from forge.clients.anthropic import AnthropicClient
from forge.clients.llamafile import LlamafileClient
from forge.clients.model_client import ModelClient
from forge.clients.ollama import OllamaClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.clients.vllm import VLLMClient
from forge.core.events import CallDelta, Delta, Finish, ReasoningDelta, TextDelta, Usage
from forge.core.request import ChatMessage, Request, Text
from forge.errors import ForgeError

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINDS = {
    ".sse": "text/event-stream; charset=utf-8",
    ".ndjson": "application/x-ndjson",
    ".json": "application/json",
}
_PARIS = [("get_weather", {"city": "Paris"})]
_CELSIUS = [("get_weather", {"city": "Paris", "unit": "celsius"})]
CALLS = pytest.mark.parametrize(
    ("kind", "name", "calls"),
    [
        pytest.param("vllm", "vllm/smollm2-135m-hermes/hermes_one_call_stream.sse", _PARIS, id="vllm-stream"),
        pytest.param("vllm", "vllm/smollm2-135m-hermes/fenced_json_call.json", _PARIS, id="vllm-rescued"),
        pytest.param("ollama", "ollama/tools_native_fewshot_stream.ndjson", _PARIS, id="ollama-stream"),
        pytest.param("ollama", "ollama/tools_native_fewshot.json", _PARIS, id="ollama"),
        pytest.param("anthropic", "ollama/anthropic_tools_stream.sse", _CELSIUS, id="anthropic-stream"),
        pytest.param("anthropic", "ollama/anthropic_tools.json", _CELSIUS, id="anthropic"),
    ],
)
"""For a test of a door: a kind of backend, a recorded answer of it that calls, and the calls in it."""
ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),))


def script(name: str, status: int = 200, *, seed: int = 0, upto: int | None = None) -> Script:
    """The recorded answer in pieces of random size, cut off after ``upto`` bytes."""
    data = (FIXTURES / name).read_bytes()[:upto]
    choose, pieces = random.Random(seed), []
    while data:
        size = choose.choice((1, 2, 7, 40, 300))
        pieces.append(data[:size])
        data = data[size:]
    return Script(list(pieces), status, {"Content-Type": KINDS[Path(name).suffix]})


def client_for(name: str, root: str) -> ModelClient:
    """The client that speaks the protocol of this recording."""
    server, stem = name.partition("/")[0], Path(name).stem
    if stem.startswith("anthropic_"):
        return AnthropicClient("m", "key", base_url=root, max_retries=0)
    if server == "llama-server":
        return LlamafileClient("m.gguf", f"{root}/v1")
    if server == "vllm":
        return VLLMClient("m", base_url=f"{root}/v1", adopt_served_identity=False)
    if server == "ollama" and not stem.startswith("v1_"):
        return OllamaClient("m", root)
    return OpenAICompatClient("m", f"{root}/v1", max_retries=0)


async def replay(name: str, answer: Script, deltas: list[Delta], *, stream: bool) -> None:
    """Have the client read ``answer``; what it gives out is appended to ``deltas``, also before an error."""
    async with ScriptedServer([answer], pages=None if name.startswith("llama-server/") else {}) as server:
        client = client_for(name, server.url)
        try:
            async for delta in client.exchange(Request(messages=ASK.messages, stream=stream)):
                deltas.append(delta)  # noqa: PERF401 - what came before an error counts
        finally:
            await client.aclose()


def read(deltas: list[Delta], error: ForgeError | None = None) -> dict[str, Any]:
    """What an answer says, without what it does not say. Usage is prompt, completion and cached tokens."""
    calls: dict[int, list[str]] = {}
    row: dict[str, Any] = {}
    for delta in deltas:
        if isinstance(delta, TextDelta):
            row["text"] = row.get("text", "") + delta.text
        elif isinstance(delta, ReasoningDelta):
            row["reasoning"] = row.get("reasoning", "") + delta.text
        elif isinstance(delta, CallDelta):
            call = calls.setdefault(delta.index, ["", "", ""])
            for place, piece in enumerate((delta.id, delta.name, delta.arguments)):
                call[place] += piece or ""
        elif isinstance(delta, Usage):
            row["usage"] = [delta.prompt_tokens, delta.completion_tokens, delta.cached_tokens]
        elif isinstance(delta, Finish):
            row["reason"] = delta.reason
    if calls:
        row["calls"] = [calls[index] for index in sorted(calls)]
    if error is not None:
        row["error"] = [type(error).__name__, getattr(error, "status_code", None), str(error)]
    return {name: value for name, value in row.items() if value != ""}
