"""The Responses door over real sockets: recorded answers of every kind of backend, what they are sent, and its limits."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest
from servers import recordings
from servers.running import running_proxy
from servers.scripted import Gate, Script, ScriptedServer, chunk, ending, stream, stream_text, whole_text

from forge.proxy.settings import Limits

pytestmark = pytest.mark.anyio

CODEX = json.loads((Path(__file__).parents[1] / "fixtures/clients/codex/first.json").read_text())
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
}
ASK = {"model": "asked-for", "input": "Weather in Paris?", "tools": [WEATHER]}


def page(name):
    return Script([(recordings.FIXTURES / name).read_bytes()])


PAGES = {
    "llamaserver": None,
    "vllm": {"/v1/models": page("vllm/smollm2-135m-hermes/v1_models.json")},
    "ollama": {"/api/show": page("ollama/show_tools.json"), "/api/ps": page("ollama/ps_loaded.json")},
    "anthropic": {},
}


async def through(kind, scripts, body, **settings):
    """The status and the object of the answer, and the chats that the backend got."""
    async with (
        ScriptedServer(list(scripts), pages=PAGES[kind]) as server,
        running_proxy(server.url, backend=kind, **settings) as proxy,
        aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session,
        session.post(f"{proxy.url}/v1/responses", json=body) as response,
    ):
        answer = await response.read()
        if response.content_type == "text/event-stream":
            return response.status, events(answer)[-1]["response"], server.chats
        return response.status, json.loads(answer), server.chats


def events(data):
    return [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]


def read(answer):
    """What an answer says: text, thinking, calls, status."""
    parts = [part for item in answer["output"] for part in item.get("content") or []]
    texts = [part["text"] for part in parts if part["type"] == "output_text"]
    thoughts = [part["text"] for part in parts if part["type"] == "reasoning_text"]
    calls = [
        (item["name"], item["arguments"]) for item in answer["output"] if item["type"] == "function_call"
    ]
    return "".join(texts), "".join(thoughts), calls, answer["status"]


def said(recorded):
    """The same of a recorded chat answer."""
    (choice,) = recorded["choices"]
    message = choice["message"]
    calls = [
        (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []
    ]
    status = "incomplete" if choice["finish_reason"] == "length" else "completed"
    return message["content"] or "", message.get("reasoning_content") or "", calls, status


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
@pytest.mark.parametrize("guarded", [pytest.param(True, id="guarded"), pytest.param(False, id="unguarded")])
async def test_recorded_answers_say_the_same(name, guarded):
    path = f"llama-server/{name}.json"
    recorded = json.loads((recordings.FIXTURES / path).read_bytes())
    body = ASK if guarded else {name: value for name, value in ASK.items() if name != "tools"}
    status, answer, chats = await through("llamaserver", [recordings.script(path)], body)
    assert (status, len(chats)) == (200, 1)
    assert read(answer) == said(recorded)
    assert answer["model"] == recorded["model"]
    assert answer["timings"] == recorded["timings"]
    usage = recorded["usage"]
    counted = (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"])
    assert tuple(answer["usage"][n] for n in ("input_tokens", "output_tokens", "total_tokens")) == counted
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] == cached


@recordings.CALLS
async def test_calls_of_every_backend(kind, name, calls):
    body = {**ASK, "stream": not name.endswith(".json")}
    status, answer, chats = await through(kind, [recordings.script(name, seed=3)], body)
    found = [(tool, json.loads(arguments)) for tool, arguments in read(answer)[2]]
    assert (status, found, len(chats)) == (200, calls, 1)


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
HISTORY = [
    {"role": "user", "content": [{"type": "input_text", "text": "Look"}, IMAGE]},
    {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
]


async def test_a_conversation_reaches_the_messages_api():
    body = {**ASK, "input": HISTORY, "instructions": "Be short.", "max_output_tokens": 9}
    _, answer, (sent,) = await through("anthropic", [recordings.script("ollama/anthropic_plain.json")], body)
    assert answer["status"] == "completed"
    assert (sent.json["system"], sent.json["max_tokens"]) == ("Be short.", 9)
    asked, called, result = sent.json["messages"]
    assert asked["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert called["content"][0]["input"] == {"city": "Paris"}
    assert result["content"][0]["tool_use_id"] == called["content"][0]["id"]


async def test_a_conversation_reaches_ollama():
    body = {**ASK, "input": HISTORY, "max_output_tokens": 9}
    _, _, (sent,) = await through("ollama", [recordings.script("ollama/chat_plain.json")], body)
    asked, called, result = sent.json["messages"]
    assert (asked["content"], asked["images"]) == ("Look", ["AA=="])
    assert called["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}
    assert result["content"] == "sunny"
    assert sent.json["options"]["num_predict"] == 9


async def test_codex():
    written = '<tool_call>\n{"name": "exec_command", "arguments": {"cmd": "echo hi"}}\n</tool_call>'
    broken = written.replace('"cmd"', '"command"')
    status, answer, (first, second) = await through(
        "llamaserver", [stream_text([broken]), stream_text([written])], CODEX
    )
    assert status == 200
    assert read(answer)[2:] == ([("exec_command", '{"cmd": "echo hi"}')], "completed")
    assert first.json["messages"][0]["role"] == "system"
    assert [message["role"] for message in first.json["messages"]].count("system") == 1
    assert all(tool["type"] == "function" for tool in first.json["tools"])
    assert "client_metadata" not in first.json
    assert second.body.startswith(first.body[: first.body.rindex(b"]")])


async def test_a_request_says_its_own_policy():
    broken = '<tool_call>\n{"name": "get_weather", "arguments": {"town": 5}}\n</tool_call>'
    body = {**ASK, "forge": {"max_retries": 0, "max_tool_errors": 0}}
    status, answer, chats = await through("llamaserver", [whole_text(broken)], body)
    assert (status, len(chats)) == (200, 1)
    assert "forge" not in chats[0].json
    assert answer["status"] == "completed"


async def test_stored_responses_need_the_callers_key():
    async with (
        ScriptedServer([whole_text("a")]) as server,
        running_proxy(server.url, api_key="k") as proxy,
        aiohttp.ClientSession() as session,
    ):
        url, key = f"{proxy.url}/v1/responses", {"Authorization": "Bearer k"}
        async with session.post(url, json={"input": "Hi"}, headers=key) as response:
            stored = f"{url}/{(await response.json())['id']}"
        async with session.get(stored) as response:
            assert response.status == 401
        async with session.get(stored, headers=key) as response:
            assert response.status == 200


async def test_the_other_spelling_of_the_path():
    async with (
        ScriptedServer([whole_text("a")]) as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/responses", json={"input": "Hi"}) as response,
    ):
        assert (await response.json())["object"] == "response"


async def test_a_long_wait_is_filled_with_events():
    """Clients give up a silent stream; Codex counts no comments."""
    gate = Gate()
    script = stream([gate, chunk({"content": "a"}), *ending()])
    async with (
        ScriptedServer([script]) as server,
        running_proxy(server.url, limits=Limits(heartbeat_seconds=0.05)) as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/responses", json={"input": "Hi", "stream": True}) as response,
    ):
        waiting = b"".join([await response.content.readuntil(b"\n\n") for _ in range(4)])
        gate.set()
        stream_ = events(waiting + await response.read())
    kinds = [event["type"] for event in stream_]
    assert kinds[:4] == ["response.created", *["response.in_progress"] * 3]
    assert kinds[-1] == "response.completed"
    assert [event["sequence_number"] for event in stream_] == list(range(len(kinds)))


async def test_a_client_that_goes_away_ends_the_backends_work():
    gate = Gate()
    async with (
        ScriptedServer([stream([chunk({"content": "a"}), gate])]) as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
    ):
        response = await session.post(f"{proxy.url}/v1/responses", json={"input": "Hi", "stream": True})
        await response.content.readuntil(b"\n\n")
        response.close()
        chat = await server.chat()
        await asyncio.wait_for(chat.gone.wait(), 8)


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        pytest.param(b"{", 400, None, id="no-json"),
        pytest.param(b'{"input": [{"role": "user", "content": 5}]}', 400, "input[0].content", id="content"),
        pytest.param(b'{"input": "a", "background": true}', 400, "background", id="background"),
        pytest.param(
            b'{"input": "a", "tools": [{"type": "function", "name": "f"}],'
            b'"tool_choice": {"type": "function", "name": "g"}}',
            400,
            "tool_choice",
            id="unknown-choice",
        ),
    ],
)
async def test_refusals_have_openais_shape(body, status, param):
    async with (
        ScriptedServer([]) as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/responses", data=body) as response,
    ):
        error = (await response.json())["error"]
        assert (response.status, error["type"], error["param"]) == (status, "invalid_request_error", param)
        assert server.chats == []
