"""What a caller says about calling holds on every kind of backend, whatever its server makes of it."""

import json
from dataclasses import dataclass

import aiohttp
import pytest
from servers import recordings
from servers.protocols import PROTOCOLS
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer

pytestmark = pytest.mark.anyio

WIRES = {protocol.name: protocol for protocol in PROTOCOLS}


def page(name):
    return Script([(recordings.FIXTURES / name).read_bytes()])


VLLM = {"/v1/models": page("vllm/smollm2-135m-hermes/v1_models.json")}
OLLAMA = {"/api/show": page("ollama/show_tools.json"), "/api/ps": page("ollama/ps_loaded.json")}
BACKENDS = {
    "llamaserver": ("llamafile", None),
    "llamafile": ("llamafile", None),
    "openai": ("openai", {}),
    "vllm": ("vllm", VLLM),
    "ollama": ("ollama", OLLAMA),
    "anthropic": ("anthropic", {}),
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": n, "parameters": {"type": "object", "properties": {a: {"type": "integer"}}}},
    }
    for n, a in (("f", "a"), ("g", "b"))
]
F, G = {"a": 1}, {"b": 2}


class Answers:
    """What a model might say, in a wire's own form."""

    def __init__(self, wire, *, streamed):
        self.wire = wire
        self.streamed = streamed

    def text(self, text):
        wire = self.wire
        if self.streamed:
            return wire.script(wire.stream(text))
        return Script([json.dumps(wire.whole(text)).encode()])

    def call(self, name, text=""):
        wire, first = self.wire, name == "f"
        if not self.streamed:
            return Script([json.dumps(self._whole_call(name, F if first else G, text)).encode()])
        half = len(wire.calls) // 2
        made = wire.calls[:half] if first else wire.calls[half:]
        said = [wire.text(text)] if text else []
        return wire.script([*wire.events(*wire.head, *said, *made, *wire.tail), wire.done])

    def _whole_call(self, name, arguments, text):
        whole = self.wire.whole(text)
        if "choices" in whole:
            call = {"name": name, "arguments": json.dumps(arguments)}
            whole["choices"][0]["message"]["tool_calls"] = [{"id": "1", "type": "function", "function": call}]
        elif "message" in whole:
            whole["message"]["tool_calls"] = [{"function": {"name": name, "arguments": arguments}}]
        else:
            blocks = [block for block in whole["content"] if block["text"]]
            use = {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": arguments}
            whole["content"] = [*blocks, use]
        return whole

    def constrained(self, name, arguments):
        """The answer to a request whose calls are held to their schema: on one wire a call, on the others its JSON."""
        if self.wire.name == "anthropic":
            return self.call(name)
        return self.text(json.dumps({"name": name, "arguments": arguments}))


@dataclass
class Proxied:
    """One kind of backend with a proxy before it, for all tests of this module."""

    kind: str
    server: ScriptedServer
    url: str
    session: aiohttp.ClientSession

    async def ask(self, choice, answers, *, streamed, **policy):
        """Text, calls and finish reason that the caller gets, and the requests that the backend got."""
        self.server.scripts = answers(Answers(WIRES[BACKENDS[self.kind][0]], streamed=streamed))
        self.server.requests.clear()
        messages = [{"role": "user", "content": "go"}]
        body = {"model": "m", "messages": messages, "tools": TOOLS, "stream": streamed, "forge": policy}
        if choice is not None:
            body["tool_choice"] = choice
        headers = {"Authorization": "Bearer k"} if self.kind == "anthropic" else {}
        url = f"{self.url}/v1/chat/completions"
        async with self.session.post(url, json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            data = await response.read()
        assert self.server.scripts == [], "not every scripted answer was asked for"
        return *read(data, streamed=streamed), [chat.json for chat in self.server.chats]


@pytest.fixture(scope="module", params=BACKENDS)
async def backend(request, anyio_backend):
    kind = request.param
    async with (
        ScriptedServer(pages=BACKENDS[kind][1]) as server,
        running_proxy(server.url, backend=kind) as proxy,
        aiohttp.ClientSession() as session,
    ):
        yield Proxied(kind, server, proxy.url, session)


def read(data, *, streamed):
    """Text, calls and finish reason of an answer."""
    if streamed:
        lines = [line[6:] for line in data.decode().split("\n") if line.startswith("data: ")]
        choices = [c for line in lines if line != "[DONE]" for c in json.loads(line)["choices"]]
    else:
        choices = json.loads(data)["choices"]
    said = [c.get("delta") or c.get("message") or {} for c in choices]
    text = "".join(m.get("content") or "" for m in said)
    calls = [call["function"] for m in said for call in m.get("tool_calls") or []]
    reason = next(c["finish_reason"] for c in reversed(choices) if c["finish_reason"])
    return text, [(c["name"], json.loads(c["arguments"])) for c in calls], reason


NAMED = {"type": "function", "function": {"name": "g"}}
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


@STREAMED
@pytest.mark.parametrize("choice", [None, "auto"])
async def test_auto_takes_text_and_calls_as_they_come(backend, choice, streamed):
    said = await backend.ask(choice, lambda a: [a.text("It is so.")], streamed=streamed)
    assert said[:3] == ("It is so.", [], "stop")
    called = await backend.ask(choice, lambda a: [a.call("f")], streamed=streamed)
    assert called[:3] == ("", [("f", F)], "tool_calls")
    assert len(said[3]) == len(called[3]) == 1


@STREAMED
async def test_none_lets_no_call_through(backend, streamed):
    text, calls, reason, sent = await backend.ask(
        "none", lambda a: [a.call("f"), a.text("It is so.")], streamed=streamed
    )
    assert (text, calls, reason) == ("It is so.", [], "stop")
    assert len(sent) == 2


@STREAMED
async def test_none_keeps_the_text_and_asks_no_further(backend, streamed):
    text, calls, reason, sent = await backend.ask(
        "none", lambda a: [a.call("f", "It is so.")], streamed=streamed
    )
    assert (text, calls, reason) == ("It is so.", [], "stop")
    assert len(sent) == 1


@STREAMED
async def test_none_leaves_a_written_call_in_the_text(backend, streamed):
    written = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    text, calls, _, sent = await backend.ask("none", lambda a: [a.text(written)], streamed=streamed)
    assert (text, calls, len(sent)) == (written, [], 1)


@STREAMED
async def test_none_shows_what_was_called_when_nothing_else_comes(backend, streamed):
    text, calls, reason, sent = await backend.ask(
        "none", lambda a: [a.call("f")] * 2, streamed=streamed, max_retries=1
    )
    assert "f(" in text
    assert (calls, reason, len(sent)) == ([], "stop", 2)


@STREAMED
async def test_required_makes_a_call_of_it(backend, streamed):
    text, calls, reason, sent = await backend.ask(
        "required", lambda a: [a.text("I would rather talk."), a.call("f")], streamed=streamed
    )
    assert (text, calls, reason) == ("", [("f", F)], "tool_calls")
    assert len(sent) == 2


@STREAMED
async def test_a_named_tool_is_the_one_that_is_called(backend, streamed):
    text, calls, reason, sent = await backend.ask(
        NAMED, lambda a: [a.call("f"), a.call("g")], streamed=streamed
    )
    assert (text, calls, reason) == ("", [("g", G)], "tool_calls")
    assert len(sent) == 2


OWN_MEANS = {
    "vllm": ("tool_choice", "required", NAMED),
    "anthropic": ("tool_choice", {"type": "any"}, {"type": "tool", "name": "g"}),
}


@pytest.mark.parametrize("choice", ["required", "named"])
async def test_a_call_is_certain_from_the_first_attempt_on(backend, choice):
    """By the backend's own means where it keeps the choice, else by holding the answer to the calls' schemas."""
    _, calls, _, sent = await backend.ask(
        NAMED if choice == "named" else choice,
        lambda a: [a.call("g") if backend.kind in OWN_MEANS else a.constrained("g", G)],
        streamed=False,
    )
    assert calls == [("g", G)]
    (body,) = sent
    if backend.kind in OWN_MEANS:
        field, required, named = OWN_MEANS[backend.kind]
        assert body[field] == (named if choice == "named" else required)
        return
    schema = body["format"] if backend.kind == "ollama" else body["response_format"]
    assert ('"f"' in json.dumps(schema)) == (choice == "required")


async def test_without_constraints_corrections_make_it_hold(backend):
    _, calls, _, sent = await backend.ask(
        NAMED, lambda a: [a.text("No."), a.call("f"), a.call("g")], streamed=False, constrain=False
    )
    assert (calls, len(sent)) == ([("g", G)], 3)
    assert not any("response_format" in body or "format" in body for body in sent)
