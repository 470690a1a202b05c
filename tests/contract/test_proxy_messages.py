"""The Messages door over real sockets: recorded answers of every kind of backend, what they are sent, and its edges."""

import json
import logging
from pathlib import Path

import aiohttp
import pytest
from servers import recordings
from servers.running import running_proxy
from servers.scripted import PROPS, Script, ScriptedServer, error, whole_call, whole_text

pytestmark = pytest.mark.anyio

CLIENTS = Path(__file__).parents[1] / "fixtures" / "clients" / "claude-code"
FIRST, SECOND = (json.loads((CLIENTS / f"{name}.json").read_text()) for name in ("first", "second"))
WEATHER = {
    "name": "get_weather",
    "input_schema": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
}
MESSAGES = [{"role": "user", "content": "Weather in Paris?"}]
ASK = {"model": "asked-for", "max_tokens": 64, "messages": MESSAGES, "tools": [WEATHER]}
SSE = {"Content-Type": "text/event-stream; charset=utf-8"}


def page(name):
    return Script([(recordings.FIXTURES / name).read_bytes()])


PAGES = {
    "llamaserver": None,
    "openai": {},
    "vllm": {"/v1/models": page("vllm/smollm2-135m-hermes/v1_models.json")},
    "ollama": {"/api/show": page("ollama/show_tools.json"), "/api/ps": page("ollama/ps_loaded.json")},
    "anthropic": {},
}


async def fetch(kind, scripts, body, *, path="/v1/messages", headers=None, pages=None, **settings):
    """Status, headers and bytes of the answer, and what the backend got."""
    async with (
        ScriptedServer(list(scripts), pages=PAGES[kind] if pages is None else pages) as server,
        running_proxy(server.url, backend=kind, **settings) as proxy,
        aiohttp.ClientSession(headers={"x-api-key": "k", **(headers or {})}) as session,
        session.post(
            proxy.url + path, data=body if isinstance(body, bytes) else json.dumps(body)
        ) as response,
    ):
        return response.status, response.headers, await response.read(), server


async def through(kind, scripts, body, **more):
    """The status, the message (put together, if it was streamed), and the chats that the backend got."""
    status, headers, data, server = await fetch(kind, scripts, body, **more)
    if headers["Content-Type"].startswith("text/event-stream"):
        return status, assembled(data), server.chats
    return status, json.loads(data), server.chats


def events(data):
    return [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]


def assembled(data):
    """What a client makes of a stream."""
    message, partial = {}, {}
    for event in events(data):
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(event["content_block"])
            case "content_block_delta":
                delta = event["delta"]
                block = message["content"][event["index"]]
                if delta["type"] == "input_json_delta":
                    partial[event["index"]] = partial.get(event["index"], "") + delta["partial_json"]
                else:
                    field = delta["type"].removesuffix("_delta")
                    block[field] = block.get(field, "") + delta[field]
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
                message |= {name: event[name] for name in event if name not in ("type", "delta", "usage")}
    for index, text in partial.items():
        message["content"][index]["input"] = json.loads(text)
    return message


def read(message):
    """Text, thinking, calls and stop reason of a message."""
    blocks = message["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    return text, thought, calls, message["stop_reason"]


REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def said(recorded):
    """The same of a recorded chat answer."""
    (choice,) = recorded["choices"]
    message = choice["message"]
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or []
    ]
    reason = REASONS[choice["finish_reason"]]
    return message["content"] or "", message.get("reasoning_content") or "", calls, reason


LLAMA = [
    "qwen2.5-coder-1.5b/chat_plain",
    "smollm2-135m-hermes-template/native_one_call",
    "smollm2-135m-hermes-template/native_two_calls_prefill",
    "smollm2-135m-hermes-template/n_probs",
    "smollm2-135m-thinking-template/reasoning",
]


@pytest.mark.parametrize("name", LLAMA)
@pytest.mark.parametrize("guarded", [pytest.param(True, id="guarded"), pytest.param(False, id="unguarded")])
async def test_recorded_answers_say_the_same(name, guarded):
    path = f"llama-server/{name}.json"
    recorded = json.loads((recordings.FIXTURES / path).read_bytes())
    body = ASK if guarded else {name: value for name, value in ASK.items() if name != "tools"}
    status, answer, chats = await through("llamaserver", [recordings.script(path)], body)

    assert (status, len(chats)) == (200, 1)
    assert read(answer) == said(recorded)
    assert (answer["model"], answer["timings"]) == (recorded["model"], recorded["timings"])
    usage, counted = recorded["usage"], answer["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    assert counted["cache_read_input_tokens"] == cached
    assert counted["input_tokens"] + cached == usage["prompt_tokens"]
    assert counted["output_tokens"] == usage["completion_tokens"]


def said_in(stream):
    """The same of a recorded stream of chunks."""
    text, thought, calls, reason = "", "", {}, None
    for chunk in (json.loads(line[6:]) for line in stream.decode().split("\n") if line.startswith("data: {")):
        for choice in chunk["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            thought += delta.get("reasoning_content") or ""
            reason = choice["finish_reason"] or reason
            for call in delta.get("tool_calls") or []:
                known = calls.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
                known[2] += call["function"].get("arguments") or ""
    found = [(call_id, name, json.loads(arguments)) for call_id, name, arguments in calls.values()]
    return text, thought, found, REASONS[reason]


@pytest.mark.parametrize(
    "name",
    [
        "qwen2.5-coder-1.5b/chat_plain_stream",
        "smollm2-135m-hermes-template/native_one_call_stream",
        "smollm2-135m-hermes-template/native_two_calls_prefill_stream",
        "smollm2-135m-thinking-template/reasoning_stream",
    ],
)
async def test_recorded_streams_say_the_same(name):
    path = f"llama-server/{name}.sse"
    body = {**ASK, "stream": True}
    _, answer, chats = await through("llamaserver", [recordings.script(path, seed=7)], body)
    assert len(chats) == 1
    assert read(answer) == said_in((recordings.FIXTURES / path).read_bytes())


@recordings.CALLS
async def test_calls_of_every_backend(kind, name, calls):
    body = {**ASK, "stream": not name.endswith(".json")}
    status, answer, chats = await through(kind, [recordings.script(name, seed=3)], body)

    _, _, found, reason = read(answer)
    assert (status, reason, len(chats)) == (200, "tool_use", 1)
    assert [call[1:] for call in found] == calls
    assert all(call[0] for call in found)


# -- a backend of the same protocol -------------------------------------------------------------------------

OWN = ["ollama/anthropic_tools", "ollama/anthropic_plain", "vllm/smollm2-135m-hermes/anthropic_plain"]


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("tools", [pytest.param(True, id="guarded"), pytest.param(False, id="forwarded")])
async def test_a_valid_answer_passes_byte_for_byte(name, tools):
    recorded = (recordings.FIXTURES / f"{name}.json").read_bytes()
    body = ASK if tools else {name: value for name, value in ASK.items() if name != "tools"}
    status, headers, data, server = await fetch("anthropic", [Script([recorded])], body)

    assert (status, data, len(server.chats)) == (200, recorded, 1)
    assert headers["Content-Type"].startswith("application/json")
    assert server.chats[0].json == body


async def test_a_stream_in_which_nothing_is_guarded_passes_byte_for_byte():
    recorded = (recordings.FIXTURES / "ollama/anthropic_stream.sse").read_bytes()
    body = {**ASK, "tools": [{"type": "web_search_20250305", "name": "web_search"}], "stream": True}
    _, _, data, server = await fetch("anthropic", [Script([recorded], headers=SSE)], body)

    assert data == recorded
    assert json.loads(server.chats[0].body) == body


@pytest.mark.parametrize("name", ["ollama/anthropic_stream.sse", "ollama/anthropic_tools_stream.sse"])
async def test_a_guarded_stream_says_the_same(name):
    recorded = assembled((recordings.FIXTURES / name).read_bytes())
    _, answer, _ = await through("anthropic", [recordings.script(name, seed=5)], {**ASK, "stream": True})

    assert read(answer) == read(recorded)
    assert answer["model"] == recorded["model"]
    for count in ("input_tokens", "output_tokens"):
        assert answer["usage"][count] == recorded["usage"][count]


SEARCHED = [
    {"type": "thinking", "thinking": "I must look.", "signature": "sig"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Paris"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "Let me see."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
]


def own_stream(blocks, reason="tool_use"):
    """A stream of the API itself."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}
    steps = [{"type": "message_start", "message": {**message, "usage": usage}}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        empty, pieces = dict(block), []
        for field, kind, piece in (
            ("text", "text_delta", "text"),
            ("thinking", "thinking_delta", "thinking"),
            ("signature", "signature_delta", "signature"),
            ("input", "input_json_delta", "partial_json"),
        ):
            if field in block:
                value = json.dumps(block[field]) if field == "input" else block[field]
                empty[field] = {} if field == "input" else ""
                pieces.append({"type": kind, piece: value})
        steps.append({"type": "content_block_start", "index": index, "content_block": empty})
        steps += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces]
        steps.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    steps += [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    data = [b"event: %b\ndata: %b\n\n" % (s["type"].encode(), json.dumps(s).encode()) for s in steps]
    return Script(data, headers=SSE)


async def test_what_only_the_api_knows_passes_a_guarded_stream():
    tools = [WEATHER, {"type": "web_search_20250305", "name": "web_search"}]
    body = {**ASK, "tools": tools, "stream": True}
    _, answer, (sent,) = await through("anthropic", [own_stream(SEARCHED)], body)

    assert answer["content"] == SEARCHED
    assert (answer["id"], answer["model"]) == ("msg_1", "claude")
    counts = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    assert [answer["usage"][name] for name in counts] == [5, 4, 9]
    assert sent.json == body


async def test_a_retry_sends_the_callers_own_body_and_appends():
    wrong = [*SEARCHED[:1], {"type": "tool_use", "id": "toolu_9", "name": "Read", "input": {"limit": 1}}]
    right = [{"type": "tool_use", "id": "toolu_8", "name": "Read", "input": {"file_path": "/x"}}]
    _, answer, (first, second) = await through("anthropic", [own_stream(wrong), own_stream(right)], FIRST)

    assert [call[1:] for call in read(answer)[2]] == [("Read", {"file_path": "/x"})]
    assert first.json == FIRST
    again = second.json
    count = len(FIRST["messages"])
    assert again["messages"][:count] == FIRST["messages"]
    assert {**again, "messages": 0} == {**FIRST, "messages": 0}
    thought, call = again["messages"][count]["content"]
    assert (thought, call["name"]) == (SEARCHED[0], "Read")
    assert again["messages"][count + 1]["content"][0]["tool_use_id"] == call["id"]
    assert second.body.startswith(first.body[: first.body.rindex(b"]")])


async def test_versions_and_previews_reach_the_api_and_nobody_else():
    headers = {"anthropic-version": "2024-01-01", "anthropic-beta": "a-1,b-2"}
    plain = Script([(recordings.FIXTURES / "ollama/anthropic_plain.json").read_bytes()])
    for body in (ASK, {name: value for name, value in ASK.items() if name != "tools"}):
        sent = await fetch("anthropic", [plain], body, path="/v1/messages?beta=true", headers=headers)
        got = sent[3].chats[0].headers
        assert (got["anthropic-version"], got["anthropic-beta"], got["x-api-key"]) == (
            "2024-01-01",
            "a-1,b-2",
            "k",
        )
    default = (await fetch("anthropic", [plain], ASK))[3].chats[0].headers
    assert default["anthropic-version"] == "2023-06-01"
    other = (await fetch("llamaserver", [whole_text("Hi")], ASK, headers=headers))[3].chats[0].headers
    assert other["authorization"] == "Bearer k"
    assert not {"anthropic-version", "anthropic-beta", "x-api-key"} & other.keys()


@pytest.mark.parametrize("tools", [True, False])
async def test_the_configured_model_is_the_apis_model(tools):
    plain = Script([(recordings.FIXTURES / "ollama/anthropic_plain.json").read_bytes()])
    body = ASK if tools else {name: value for name, value in ASK.items() if name != "tools"}
    _, _, (sent,) = await through("anthropic", [plain], body, model="claude-own")
    assert sent.json == {**body, "model": "claude-own"}


@pytest.mark.parametrize("extra", [{"forge": {"max_retries": 1}}, {"forge": {"reasoning_replay": "none"}}])
async def test_what_is_said_to_forge_alone_is_kept_from_the_api(extra):
    plain = Script([(recordings.FIXTURES / "ollama/anthropic_plain.json").read_bytes()])
    body = {name: value for name, value in FIRST.items() if name not in ("tools", "stream")}
    _, _, (sent,) = await through("anthropic", [plain], {**body, **extra})
    assert sent.json == body


# -- backends of other protocols ----------------------------------------------------------------------------


async def test_a_coding_agents_first_two_requests():
    call = whole_call("Read", '{"file_path": "/home/user/demo/README.md"}')
    bodies = [{**body, "stream": False} for body in (FIRST, SECOND)]
    _, answer, (first,) = await through("llamaserver", [call], bodies[0])
    assert [call[1:] for call in read(answer)[2]] == [("Read", {"file_path": "/home/user/demo/README.md"})]
    _, answer, (second,) = await through("llamaserver", [whole_text("# demo")], bodies[1])
    assert read(answer)[0] == "# demo"

    head = first.json
    assert head["messages"][0] == {
        "role": "system",
        "content": "You are a coding agent.\n\nKeep answers short.",
    }
    assert [message["role"] for message in head["messages"]] == ["system", "user", "system"]
    assert head["max_tokens"] == 32000
    assert head["user"] == FIRST["metadata"]["user_id"]
    assert [tool["function"]["parameters"] for tool in head["tools"]] == [
        tool["input_schema"] for tool in FIRST["tools"]
    ]
    # The changing line and the moved marks leave the prompt as it was.
    assert second.body.startswith(first.body[: first.body.rindex(b"]")])
    assert second.json["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "toolu_1",
        "content": "1\t# demo\n2\t",
    }


async def test_ollama_and_vllm_get_it_in_their_own_form():
    body = {**SECOND, "stream": False, "thinking": {"type": "disabled"}, "stop_sequences": ["END"]}
    plain = page("ollama/chat_plain.json")
    _, _, (sent,) = await through("ollama", [plain], body)
    assert sent.target == "/api/chat"
    assert sent.json["think"] is False
    assert sent.json["options"]["stop"] == ["END"]
    assert sent.json["messages"][-2]["tool_calls"][0]["function"]["arguments"] == {
        "file_path": "/home/user/demo/README.md"
    }
    _, _, (sent,) = await through("vllm", [page("vllm/smollm2-135m-hermes/chat_plain.json")], body)
    assert sent.json["model"] == "smollm2-135m-instruct"
    assert sent.json["chat_template_kwargs"]["enable_thinking"] is False


async def test_a_limit_reaches_servers_that_have_another_name_for_it():
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    scripts = [error(400, words, "invalid_request_error"), whole_text("Hi")]
    status, answer, (_, sent) = await through("openai", scripts, ASK)
    assert (status, read(answer)[0]) == (200, "Hi")
    assert sent.json["max_completion_tokens"] == 64
    assert "max_tokens" not in sent.json


async def test_what_a_backend_has_nothing_for_is_named_once(caplog):
    caplog.set_level(logging.INFO, logger="forge.proxy")
    body = {**FIRST, "stream": False}
    async with (
        ScriptedServer([whole_text("Hi"), whole_text("Hi")]) as server,
        running_proxy(server.url, backend="llamaserver") as proxy,
        aiohttp.ClientSession() as session,
    ):
        for _ in range(2):
            async with session.post(f"{proxy.url}/v1/messages", json=body) as response:
                assert response.status == 200
    named = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert len(named) == 1
    for field in ("cache_control", "context_management"):
        assert field in named[0]


async def test_what_the_api_has_nothing_for_is_named_and_the_rest_converted(caplog):
    caplog.set_level(logging.INFO, logger="forge.proxy")
    body = {
        "model": "m",
        "messages": MESSAGES,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "stop": "END",
        "tool_choice": "auto",
        "user": "u",
        "temperature": 1.5,
        "top_p": 0.5,
        "seed": 7,
        "logprobs": True,
        "frequency_penalty": 0.5,
    }
    plain = page("ollama/anthropic_plain.json")
    _, _, (sent,) = await through("anthropic", [plain], body, path="/v1/chat/completions")

    said_there = {name: value for name, value in sent.json.items() if name not in ("tools", "messages")}
    assert said_there == {
        "model": "m",
        "max_tokens": 4096,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "u"},
        "temperature": 1,
        "top_p": 0.5,
    }
    [named] = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    for field in ("seed", "logprobs", "frequency_penalty"):
        assert field in named


# -- errors, counts, edges ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"[]", "object"),
        (b'{"max_tokens": 1}', "messages"),
        (
            b'{"max_tokens": 1, "messages": [{"role": "user", "content": "x"}], "tools": [{}]}',
            "tools[0].name",
        ),
        (json.dumps({**ASK, "tool_choice": {"type": "tool", "name": "g"}}).encode(), "'g'"),
    ],
)
async def test_a_bad_request_has_the_apis_shape(body, words):
    status, headers, data, server = await fetch("llamaserver", [], body)
    answer = json.loads(data)

    assert (status, server.chats) == (400, [])
    assert headers["Content-Type"] == "application/json"
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert words in answer["error"]["message"]


async def test_the_apis_own_error_passes_as_it_is():
    body = b'{"type":"error","error":{"type":"billing_error","message":"no credit"},"request_id":"req_1"}'
    script = Script([body], 402)
    for asked in (ASK, {name: value for name, value in ASK.items() if name != "tools"}):
        status, _, data, _ = await fetch("anthropic", [script], asked)
        assert (status, data) == (402, body)


async def test_another_method_is_told_so_in_the_apis_shape():
    async with (
        ScriptedServer() as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"{proxy.url}/v1/messages") as response:
            assert response.status == 405
            assert (await response.json())["error"]["type"] == "invalid_request_error"
        async with session.head(f"{proxy.url}/") as response:
            assert response.status == 200


COUNT = "/v1/messages/count_tokens"
COUNTED = Script([b'{"input_tokens":42}'])


@pytest.mark.parametrize(
    ("kind", "page", "status", "how"),
    [
        pytest.param("anthropic", COUNTED, 200, "counted", id="anthropic"),
        pytest.param("anthropic", error(529, "busy", "overloaded_error"), 529, None, id="anthropic-busy"),
        pytest.param("anthropic", None, 200, "estimated", id="anthropic-like"),
        pytest.param("llamaserver", COUNTED, 200, "counted", id="llama"),
        pytest.param("openai", error(400, "odd", "x"), 200, "estimated", id="refused"),
        pytest.param("openai", Script([b'{"tokens":42}']), 200, "estimated", id="odd-answer"),
        pytest.param("openai", error(401, "key", "x"), 401, None, id="no-key"),
        pytest.param("ollama", None, 200, "estimated", id="ollama"),
    ],
)
async def test_counts(kind, page, status, how):
    pages = {**(PAGES[kind] or {}), **({COUNT: page} if page is not None else {})}
    if kind == "llamaserver":
        pages["/props"] = Script([json.dumps(PROPS).encode()])
    body = {name: value for name, value in ASK.items() if name != "max_tokens"}
    got, headers, data, server = await fetch(kind, [], body, path=COUNT, pages=pages)

    assert (got, headers.get("x-forge-token-count")) == (status, how)
    answer = json.loads(data)
    if how == "counted":
        assert answer == {"input_tokens": 42}
        asked = next(request for request in server.requests if request.target == COUNT)
        assert asked.json == body
    elif how == "estimated":
        assert 10 < answer["input_tokens"] < 200
    else:
        assert answer["type"] == "error"


async def test_a_count_does_not_trust_a_server_that_never_shows_its_model_the_tools():
    props = {**PROPS, "chat_template": "{{ messages }}", "chat_template_caps": {"supports_tools": False}}
    pages = {COUNT: COUNTED, "/props": Script([json.dumps(props).encode()])}
    _, headers, _, _ = await fetch("llamaserver", [], ASK, path=COUNT, pages=pages)
    assert headers["x-forge-token-count"] == "estimated"


async def test_a_count_of_nonsense_is_refused():
    status, _, data, _ = await fetch("llamaserver", [], b"{}", path=COUNT)
    assert status == 400
    assert "messages" in json.loads(data)["error"]["message"]
