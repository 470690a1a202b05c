"""Every recorded valid answer of every server, through the proxy and out of each of its doors: nothing is lost on the way.

The recordings' table says what each answer says. What comes out of a door is read by a client of that door's protocol,
and must say the same: text, thinking, calls with their ids, usage, the reason why it ended.
"""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest
from servers import recordings
from servers.fuse import Fuse, Fused, FusedSchema
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer

from forge.clients.anthropic import AnthropicClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.core.request import ChatMessage, Request, Text, Tool
from forge.errors import ForgeError
from forge.proxy.backends import make_backend
from forge.proxy.courier import Courier
from forge.proxy.gate import Gate
from forge.proxy.handler import InferenceEndpoint
from forge.proxy.openai_door import OpenAIDoor
from forge.proxy.server import HTTPServer, bind
from forge.proxy.service import Service
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio

TABLE = json.loads((recordings.FIXTURES / "expected.json").read_text(encoding="utf-8"))


def is_valid(row):
    """Whether the row is an answer, and each of its calls has an object for its arguments."""
    if "error" in row or row.get("status", 200) != 200 or not (row.get("text") or row.get("calls")):
        return False
    try:
        return all(isinstance(json.loads(call[2]), dict) for call in row.get("calls", []))
    except ValueError:
        return False


VALID = {name: row for name, row in TABLE.items() if is_valid(row)}
ASK = (ChatMessage(role="user", parts=(Text("hi"),)),)
OTHER = Tool(name="a_tool_of_another_name", parameters={"type": "object", "properties": {}})


def kind_of(name):
    """The backend's kind that speaks the protocol of this recording."""
    server, stem = name.partition("/")[0], name.rpartition("/")[2]
    if stem.startswith("anthropic_"):
        return "anthropic"
    if server == "ollama" and stem.startswith("v1_"):
        return "openai"
    return {"llama-server": "llamaserver", "dasllama": "openai"}.get(server, server)


KINDS = sorted({kind_of(name) for name in VALID})


def is_plain(row):
    """Whether nobody could take the text for a call, or a part of one."""
    return not set(row.get("text", "")) & set("{}<>[]`|")


def tools_for(row):
    """Tools that were right to be called as the answer calls them."""
    return tuple(
        Tool(name=name, parameters={"type": "object"}) for name in {c[1] for c in row.get("calls", [])}
    )


def streamed(name):
    return not name.endswith(".json") or name.endswith("_stream.json")


def script(name):
    """The recorded answer, with its head, all at once: other tests cut it into pieces."""
    data = (recordings.FIXTURES / name).read_bytes()
    kind = recordings.KINDS["." + name.rpartition(".")[2]]
    return Script([data], headers={"Content-Type": kind})


@asynccontextmanager
async def proxied(kind, **settings):
    """A backend of this kind and the proxy before it."""
    async with (
        ScriptedServer(pages=None if kind == "llamaserver" else {}) as backend,
        running_proxy(backend.url, backend=kind, model="m", serialize=True, **settings) as runtime,
    ):
        yield backend, runtime.url


class OwnDoor:
    """What an answer says that comes out of a door for which Forge has a client."""

    def __init__(self, client):
        self.client = client

    async def said(self, name, tools):
        deltas, error = [], None
        try:
            request = Request(messages=ASK, tools=tools, stream=streamed(name))
            async for delta in self.client.exchange(request):
                deltas.append(delta)  # noqa: PERF401 - what came before an error counts
        except ForgeError as raised:
            error = raised
        return recordings.read(deltas, error)

    async def aclose(self):
        await self.client.aclose()


class ResponsesDoor:
    """The same of the Responses API."""

    def __init__(self, url):
        self.url = f"{url}/v1/responses"
        self.session = aiohttp.ClientSession()

    async def said(self, name, tools):
        offered = [{"type": "function", "name": t.name, "parameters": t.parameters} for t in tools]
        body = {
            "model": "m",
            "input": "hi",
            "stream": streamed(name),
            **({"tools": offered} if offered else {}),
        }
        async with self.session.post(self.url, json=body) as response:
            data = await response.read()
        if not body["stream"]:
            return self._read(json.loads(data))
        events = [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]
        row = self._read(events[-1].get("response", events[-1]))
        for kind, field in (("output_text", "text"), ("reasoning_text", "reasoning")):
            told = "".join(e["delta"] for e in events if e["type"] == f"response.{kind}.delta")
            assert told == row.get(field, "")
        return row

    @staticmethod
    def _read(response):
        row, calls = {}, []
        for item in response.get("output", [{"type": "error", **response}]):
            if item["type"] == "function_call":
                calls.append([item["call_id"], item["name"], item["arguments"]])
            elif item["type"] in {"message", "reasoning"}:
                field = "text" if item["type"] == "message" else "reasoning"
                row[field] = row.get(field, "") + "".join(part["text"] for part in item["content"])
            else:
                row["error"] = item
        if calls:
            row["calls"] = calls
        if usage := response.get("usage"):
            cached = usage["input_tokens_details"]["cached_tokens"]
            row["usage"] = [usage["input_tokens"], usage["output_tokens"], cached]
        reasons = {"max_output_tokens": "length", "content_filter": "content_filter"}
        why = (response.get("incomplete_details") or {}).get("reason")
        row["reason"] = reasons[why] if why else "tool_calls" if calls else "stop"
        return {name: value for name, value in row.items() if value != ""}

    async def aclose(self):
        await self.session.close()


DOORS = {
    "openai": lambda url: OwnDoor(OpenAICompatClient("m", f"{url}/v1", max_retries=0)),
    "anthropic": lambda url: OwnDoor(AnthropicClient("m", "key", base_url=url, max_retries=0)),
    "responses": ResponsesDoor,
}


def comparable(row, door, wanted):
    """``row`` without what the door's protocol has no place for."""
    row = dict(row)
    if "usage" not in wanted:
        row.pop("usage", None)  # the recording was not asked for it; the protocols want a number
    if door == "anthropic" and "calls" in row:
        # Input is an object there, so the spaces in its text are nobody's.
        row["calls"] = [[call_id, name, json.loads(text)] for call_id, name, text in row["calls"]]
    return row


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "with-guards-off"])
async def test_nothing_is_lost(kind, door, guarded):
    lost, count = {}, 0
    settings = {} if guarded else {"rescue": False, "text_policy": "trust"}
    async with proxied(kind, **settings) as (backend, url):
        reader = DOORS[door](url)
        for name, row in VALID.items():
            if kind_of(name) != kind or (guarded and not is_plain(row)):
                continue
            backend.scripts[:] = [script(name)]
            backend.requests.clear()
            got = comparable(await reader.said(name, tools_for(row) or (OTHER,)), door, row)
            count += 1
            if got != comparable(row, door, row) or len(backend.chats) != 1:
                lost[name] = {"wanted": row, "got": got, "asked": len(backend.chats)}
        await reader.aclose()
    assert count
    assert lost == {}


# -- what the table does not say: every field and every byte, where both sides speak the same protocol --------------------

SAME = [
    name
    for name, row in VALID.items()
    if kind_of(name) in {"llamaserver", "vllm", "openai"} and is_plain(row)
]


@pytest.mark.parametrize("tools", [True, False], ids=["guarded", "unguarded"])
async def test_a_whole_answer_is_the_backends_to_the_byte(tools):
    changed, count = [], 0
    async with proxied("openai") as (backend, url), aiohttp.ClientSession() as session:
        for name in SAME:
            if streamed(name):
                continue
            backend.scripts[:] = [script(name)]
            offered = tools_for(VALID[name]) or (OTHER,)
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            if tools:
                body["tools"] = [
                    {"type": "function", "function": {"name": t.name, "parameters": t.parameters}}
                    for t in offered
                ]
            count += 1
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                if await response.read() != (recordings.FIXTURES / name).read_bytes():
                    changed.append(name)
    assert count > 50
    assert changed == []


def joined(data):
    """What a client makes of a stream: texts joined, everything else as it was last said; the clock aside."""
    seen = {}
    for line in data.decode().split("\n"):
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        event = json.loads(line[6:])
        for choice in event.pop("choices", []):
            _merge(seen, choice, f"choices.{choice['index']}.")
        _merge(seen, event, "")
    return {
        name: value for name, value in seen.items() if value not in (None, "", [], {}) and name != "created"
    }


def _merge(seen, value, path):
    for name, item in value.items():
        at = path + name
        if isinstance(item, dict) and name in {"delta", "function"}:
            _merge(seen, item, f"{at}.")
        elif name == "tool_calls":
            for call in item or []:
                _merge(seen, call, f"{at}.{call['index']}.")
        elif name in {"content", "reasoning_content", "reasoning", "arguments"} and isinstance(item, str):
            seen[at] = seen.get(at, "") + item
        elif name == "logprobs" and item:
            seen[at] = seen.get(at, []) + (item.get("content") or [])
        elif item is not None:
            seen[at] = item


@pytest.mark.parametrize("kind", ["llamaserver", "vllm", "openai"])
async def test_a_stream_says_every_field_that_the_backends_said(kind):
    changed, count = {}, 0
    async with proxied(kind) as (backend, url), aiohttp.ClientSession() as session:
        for name in SAME:
            if kind_of(name) != kind or not streamed(name) or name.endswith(".json"):
                continue
            backend.scripts[:] = [script(name)]
            offered = tools_for(VALID[name]) or (OTHER,)
            body = {
                "model": "m",
                "messages": [{"role": "user", "content": "hi"}],
                "tools": [
                    {"type": "function", "function": {"name": t.name, "parameters": t.parameters}}
                    for t in offered
                ],
                "stream": True,
                "stream_options": {"include_usage": True},
            }
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                got = joined(await response.read())
            count += 1
            wanted = joined((recordings.FIXTURES / name).read_bytes())
            if "usage" not in wanted:
                got.pop("usage", None)
            if got != wanted:
                fields = wanted.keys() | got.keys()
                changed[name] = {
                    f: (wanted.get(f), got.get(f)) for f in fields if wanted.get(f) != got.get(f)
                }
    assert count > 5
    assert changed == {}


# -- and where Forge itself fails on the way --------------------------------------------------------------------------------


class FusedDoor(OpenAIDoor):
    """A door whose tools raise when they are looked at for the ``limit``-th time."""

    def __init__(self, fuse):
        self.fuse = fuse

    def decode(self, body):
        request = super().decode(body)
        tools = []
        for tool in request.tools:
            name, schema = Fused(tool.name), FusedSchema(tool.parameters)
            name.fuse = schema.fuse = self.fuse
            tools.append(msgspec.structs.replace(tool, name=name, parameters=schema))
        return msgspec.structs.replace(request, tools=tuple(tools))


@asynccontextmanager
async def fused(backend, fuse):
    """A proxy with that door, and its URL."""
    settings = Settings(backend_url=backend.url, backend="llamaserver", model="m")
    service = Service(settings, make_backend(settings, backend.url), Courier(backend.url, settings))
    endpoint = InferenceEndpoint(FusedDoor(fuse), service)
    gate = Gate(endpoint, settings, lambda path, failure: b"", {"/v1/chat/completions": endpoint})
    server = HTTPServer(gate, bind("127.0.0.1", 0), settings.limits)
    started = asyncio.Event()
    serving = asyncio.create_task(server.serve(started.set))
    await started.wait()
    try:
        yield f"http://127.0.0.1:{server.port}/v1/chat/completions"
    finally:
        server.force()
        await serving
        await service.aclose()


FAULTY = [
    "llama-server/qwen2.5-coder-1.5b/chat_plain.json",
    "llama-server/qwen2.5-coder-1.5b/chat_plain_stream.sse",
    "llama-server/smollm2-135m-hermes-template/native_one_call.json",
    "llama-server/smollm2-135m-hermes-template/native_one_call_stream.sse",
]


@pytest.mark.parametrize("name", FAULTY)
async def test_a_fault_of_forges_own_costs_nobody_the_answer(name):
    wanted = (recordings.FIXTURES / name).read_bytes()
    offered = tools_for(VALID[name]) or (OTHER,)
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [
            {"type": "function", "function": {"name": t.name, "parameters": t.parameters}} for t in offered
        ],
        "stream": streamed(name),
        "stream_options": {"include_usage": True},
    }
    fuse, struck = Fuse(0), 0
    async with ScriptedServer() as backend, fused(backend, fuse) as url, aiohttp.ClientSession() as session:
        for limit in range(1, 60):
            fuse.limit, fuse.uses, fuse.struck = limit, 0, set()
            backend.scripts[:] = [script(name)]
            async with session.post(url, json=body) as response:
                got = await response.read()
            # Decoding and sending the request is no guard; what is struck there is the request's failure.
            if not fuse.struck & {"turn", "release", "judge", "call_check", "answer"}:
                continue
            struck += 1
            assert response.status == 200, fuse.struck
            if streamed(name):
                assert joined(got) == joined(wanted)
            else:
                assert got == wanted
    assert struck
