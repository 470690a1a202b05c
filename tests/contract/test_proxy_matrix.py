"""Each door before each kind of backend: what a client sees of a text, a call, a call that is written as text, thinking,
an answer that was cut, an error, and one in the middle of a stream.

The backends write their own protocols (:mod:`servers.spoken`), the clients read with the types of the SDKs.
"""

import json
from typing import ClassVar

import aiohttp
import pytest
from servers import spoken
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer, error, stream
from servers.spoken import Read, Spoken

pytestmark = pytest.mark.anyio

PARIS = {"city": "Paris"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WRITTEN = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'


def sse(data):
    return b"".join(b"data: %b\n\n" % event for event in data)


def json_script(body):
    return Script([body])


class Chat:
    """A server of chat completions."""

    pages = None

    @staticmethod
    def script(answer, *, streamed, upto=None):
        if not streamed:
            return json_script(spoken.chat_whole(answer))
        return stream([sse(spoken.chat_stream(answer)[:upto])])

    failure = b'data: {"error": {"message": "engine broke", "type": "server_error", "code": 500}}\n\n'


class Messages:
    """A server of the Messages API."""

    pages: ClassVar = {}

    @staticmethod
    def script(answer, *, streamed, upto=None):
        if not streamed:
            return json_script(spoken.messages_whole(answer))
        events = spoken.messages_stream(answer)[:upto]
        return stream([b"event: %b\ndata: %b\n\n" % (json.loads(e)["type"].encode(), e) for e in events])

    failure = b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "engine broke"}}\n\n'


class Ollama:
    """A server of Ollama's own API."""

    pages: ClassVar = {}

    @staticmethod
    def script(answer, *, streamed, upto=None):
        if not streamed:
            return json_script(spoken.ollama_whole(answer))
        lines = spoken.ollama_stream(answer)[:upto]
        return Script(
            [b"".join(line + b"\n" for line in lines)], headers={"Content-Type": "application/x-ndjson"}
        )

    failure = b'{"error": "engine broke"}\n'


BACKENDS = {"llamaserver": Chat, "openai": Chat, "vllm": Chat, "ollama": Ollama, "anthropic": Messages}
USER = [{"role": "user", "content": "Weather in Paris?"}]
FUNCTION = {"name": "get_weather", "parameters": SCHEMA}
DOORS = {
    "/v1/chat/completions": (
        {
            "messages": USER,
            "tools": [{"type": "function", "function": FUNCTION}],
            "stream_options": {"include_usage": True},
        },
        spoken.read_chat,
        {"stop": "stop", "call": "tool_calls", "cut": "length"},
    ),
    "/v1/messages": (
        {"messages": USER, "max_tokens": 9, "tools": [{"name": "get_weather", "input_schema": SCHEMA}]},
        spoken.read_message,
        {"stop": "end_turn", "call": "tool_use", "cut": "max_tokens"},
    ),
    "/v1/responses": (
        {"input": "Weather in Paris?", "tools": [{"type": "function", **FUNCTION}]},
        spoken.read_response,
        {"stop": "completed", "call": "completed", "cut": "max_output_tokens"},
    ),
}
CALL = ("call", "get_weather", json.dumps(PARIS))
BAD_CALL = ("call", "get_weather", '{"town": "Paris"}')
CASES = {
    "text": ([[("text", "It is sunny.")]], "It is sunny.", "", [], "stop"),
    "unicode": ([[("text", "Grüße 😀 \u2028 \x7f")]], "Grüße 😀 \u2028 \x7f", "", [], "stop"),
    "call": ([[CALL]], "", "", [PARIS], "call"),
    "text-and-calls": ([[("text", "Let me see."), CALL, CALL]], "Let me see.", "", [PARIS, PARIS], "call"),
    "written-call": ([[("text", f"Let me see. {WRITTEN}")]], "Let me see. ", "", [PARIS], "call"),
    "thinking": ([[("thinking", "Hm."), ("text", "Sunny.")]], "Sunny.", "Hm.", [], "stop"),
    "thinking-and-call": ([[("thinking", "Hm."), CALL]], "", "Hm.", [PARIS], "call"),
    "corrected": ([[("text", "Now: "), BAD_CALL], [CALL]], "Now: ", "", [PARIS], "call"),
    "empty-then-text": ([[], [("text", "Sunny.")]], "Sunny.", "", [], "stop"),
}


def asked(door, streamed):
    body, read, reasons = DOORS[door]
    return {"model": "m", **body, "stream": streamed}, read, reasons


@pytest.fixture(params=BACKENDS)
async def setting(request):
    """A backend of one kind, the proxy before it, and a session."""
    backend = BACKENDS[request.param]
    async with (
        ScriptedServer(pages=backend.pages) as server,
        running_proxy(server.url, backend=request.param, model="m", serialize=True) as proxy,
        aiohttp.ClientSession() as session,
    ):
        yield backend, server, proxy.url, session


async def test_what_a_client_sees(setting):
    backend, server, url, session = setting
    wrong, count = {}, 0
    for door in DOORS:
        for name, (attempts, text, thinking, calls, why) in CASES.items():
            for streamed in (True, False):
                body, read, reasons = asked(door, streamed)
                server.scripts[:] = [
                    backend.script(Spoken(tuple(said)), streamed=streamed) for said in attempts
                ]
                async with session.post(url + door, json=body) as response:
                    data = await response.read()
                    assert response.status == 200, (door, name, data)
                tokens = (10 * len(attempts), 5 * len(attempts))
                wanted = Read(text, thinking, [("get_weather", call) for call in calls], reasons[why], tokens)
                got = read(data, streamed=streamed)
                count += 1
                if got != wanted or server.scripts:
                    wrong[door, name, streamed] = (got, wanted, len(server.scripts))
    assert count == 2 * len(DOORS) * len(CASES)
    assert wrong == {}


async def test_an_answer_that_was_cut_in_a_call_says_so_and_calls_nothing(setting):
    backend, server, url, session = setting
    for door in DOORS:
        for streamed in (True, False):
            body, read, reasons = asked(door, streamed)
            said = Spoken((("text", f"Let me see. {WRITTEN[:-30]}"),), finish="length")
            server.scripts[:] = [backend.script(said, streamed=streamed)]
            async with session.post(url + door, json=body) as response:
                got = read(await response.read(), streamed=streamed)
            assert (got.calls, got.why) == ([], reasons["cut"])
            assert got.text.startswith("Let me see.")


ERRORS = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (404, "not_found_error"),
    (429, "rate_limit_error"),
]


@pytest.mark.parametrize(("status", "kind"), ERRORS)
async def test_an_error_has_the_doors_shape(setting, status, kind):
    _, server, url, session = setting
    for door in DOORS:
        for streamed in (True, False):
            body, _, _ = asked(door, streamed)
            server.scripts[:] = [error(status, "engine broke", kind, {"Retry-After": "7"})]
            async with session.post(url + door, json=body) as response:
                answer = await response.json()
                assert response.status == status
                assert response.headers["Retry-After"] == "7"
            assert answer["error"]["message"] == "engine broke"
            assert answer["error"]["type"] == kind
            assert answer.get("type") == ("error" if door == "/v1/messages" else None)


@pytest.mark.parametrize("broken", ["error", "cut"])
async def test_a_stream_that_fails_ends_with_the_doors_error(setting, broken):
    backend, server, url, session = setting
    for door in DOORS:
        body, _, _ = asked(door, True)
        script = backend.script(Spoken((("text", "It is sunny in Paris today. "),)), streamed=True, upto=3)
        script.cut = broken == "cut"
        if broken == "error":
            script.steps.append(backend.failure)
        server.scripts[:] = [script]
        async with session.post(url + door, json=body) as response:
            data = await response.read()
            assert response.status == 200
        assert b"[DONE]" not in data
        last = spoken.events_of(data)[-1]
        message = (last.get("error") or last)["message"]
        assert message == "engine broke" if broken == "error" else message
        if door != "/v1/chat/completions":
            assert last["type"] == "error"
        if door == "/v1/responses":
            assert spoken.events_of(data)[-2]["type"] == "response.failed"
