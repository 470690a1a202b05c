"""Recorded valid answers of a real llama-server, with tools offered: the client must see what the server said."""

import json
from pathlib import Path

import aiohttp
import pytest
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer

pytestmark = pytest.mark.anyio

FIXTURES = Path(__file__).parents[1] / "fixtures" / "llama-server"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
}
BODY = {"model": "m", "messages": [{"role": "user", "content": "Weather in Paris?"}], "tools": [WEATHER]}


async def ask(script, **fields):
    """The proxy's answer to one request, and how often it asked the backend."""
    async with (
        ScriptedServer([script]) as backend,
        running_proxy(backend.url) as runtime,
        aiohttp.ClientSession() as session,
        session.post(f"{runtime.url}/v1/chat/completions", json={**BODY, **fields}) as response,
    ):
        assert response.status == 200
        return await response.read(), len(backend.chats)


@pytest.mark.parametrize(
    "name",
    [
        "qwen2.5-coder-1.5b/chat_plain",
        "smollm2-135m-hermes-template/native_one_call",
        "smollm2-135m-hermes-template/native_two_calls_prefill",
        "smollm2-135m-hermes-template/n_probs",
        "smollm2-135m-thinking-template/reasoning",
    ],
)
async def test_whole_answers_are_untouched(name):
    recorded = (FIXTURES / f"{name}.json").read_bytes()
    body, asked = await ask(Script([recorded]))
    assert (body, asked) == (recorded, 1)


def chunks(stream):
    data = [line[6:] for line in stream.decode().split("\n") if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    return [json.loads(item) for item in data[:-1]]


def joined(stream):
    """What a client makes of a stream: texts joined, calls assembled, and the last word on everything else."""
    seen = {"content": "", "reasoning_content": "", "calls": {}, "logprobs": []}
    for chunk in chunks(stream):
        seen.setdefault("created", chunk["created"])  # the real server's clock goes on within a stream
        seen |= {
            name: chunk[name] for name in ("id", "model", "system_fingerprint", "timings") if name in chunk
        }
        if chunk.get("usage"):
            seen["usage"] = chunk["usage"]
        for choice in chunk["choices"]:
            seen["finish_reason"] = choice["finish_reason"] or seen.get("finish_reason")
            seen["logprobs"] += (choice.get("logprobs") or {}).get("content") or []
            delta = choice["delta"]
            for name in ("content", "reasoning_content"):
                seen[name] += delta.get(name) or ""
            for call in delta.get("tool_calls") or []:
                whole = seen["calls"].setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                whole["id"] += call.get("id") or ""
                whole["name"] += call["function"].get("name") or ""
                whole["arguments"] += call["function"].get("arguments") or ""
    return seen


@pytest.mark.parametrize("size", [None, 7], ids=["at-once", "in-small-pieces"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("qwen2.5-coder-1.5b/chat_plain_stream", {"include_usage": True}),
        ("qwen2.5-coder-1.5b/chat_plain_stream_nousage", None),
        ("smollm2-135m-hermes-template/native_one_call_stream", {"include_usage": True}),
        ("smollm2-135m-hermes-template/native_two_calls_prefill_stream", {"include_usage": True}),
        ("smollm2-135m-thinking-template/reasoning_stream", {"include_usage": True}),
    ],
)
async def test_streams_say_the_same(name, options, size):
    recorded = (FIXTURES / f"{name}.sse").read_bytes()
    size = size or len(recorded)
    script = Script(
        [recorded[i : i + size] for i in range(0, len(recorded), size)],
        headers={"Content-Type": "text/event-stream"},
    )
    fields = {"stream_options": options} if options else {}
    body, asked = await ask(script, stream=True, **fields)
    wanted = joined(recorded)
    if options is None:
        wanted.pop("usage", None)
    assert joined(body) == wanted
    assert asked == 1
