"""The proxy in front of vLLM, Ollama and the Messages API: recorded answers, over real sockets, end to end."""

import json

import aiohttp
import pytest
from servers import recordings
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer

pytestmark = pytest.mark.anyio

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
SSE = {"Content-Type": "text/event-stream"}


def chat(*, tools=True, **fields):
    body = {"model": "asked-for", "messages": [{"role": "user", "content": "Weather in Paris?"}], **fields}
    return {**body, "tools": [WEATHER]} if tools else body


def page(name):
    return Script([(recordings.FIXTURES / name).read_bytes()])


VLLM = {"/v1/models": page("vllm/smollm2-135m-hermes/v1_models.json")}
OLLAMA = {"/api/show": page("ollama/show_tools.json"), "/api/ps": page("ollama/ps_loaded.json")}


async def through(kind, pages, scripts, body, *, headers=None, **settings):
    """The proxy's answer to ``body`` (status, parsed JSON or events) and the chats that the backend got."""
    async with (
        ScriptedServer(list(scripts), pages=pages) as server,
        running_proxy(server.url, backend=kind, **settings) as proxy,
        aiohttp.ClientSession() as session,
    ):
        url = f"{proxy.url}/v1/chat/completions"
        async with session.post(url, json=body, headers=headers) as response:
            answer = await response.read()
            if response.content_type != "text/event-stream":
                return response.status, json.loads(answer), server.chats
        lines = [line[6:] for line in answer.decode().split("\n") if line.startswith("data: ")]
        assert lines.pop() == "[DONE]"
        return response.status, [json.loads(line) for line in lines], server.chats


def read(answer):
    """Text, calls and finish reason of an answer, streamed or whole."""
    chunks = answer if isinstance(answer, list) else [answer]
    text, calls, reason = "", [], None
    for chunk in chunks:
        for choice in chunk["choices"]:
            said = choice.get("delta", choice.get("message"))
            text += said.get("content") or ""
            calls += [call["function"] for call in said.get("tool_calls") or []]
            reason = choice["finish_reason"] or reason
    return text, [(call["name"], json.loads(call["arguments"])) for call in calls], reason


PARIS = [("get_weather", {"city": "Paris"})]
CALLS = [
    pytest.param("vllm", VLLM, "vllm/smollm2-135m-hermes/hermes_one_call_stream.sse", id="vllm-stream"),
    pytest.param("vllm", VLLM, "vllm/smollm2-135m-hermes/hermes_one_call.json", id="vllm"),
    pytest.param("vllm", VLLM, "vllm/smollm2-135m-hermes/fenced_json_call.json", id="vllm-rescued"),
    pytest.param("ollama", OLLAMA, "ollama/tools_native_fewshot_stream.ndjson", id="ollama-stream"),
    pytest.param("ollama", OLLAMA, "ollama/tools_native_fewshot.json", id="ollama"),
]


@pytest.mark.parametrize(("kind", "pages", "name"), CALLS)
async def test_a_recorded_call_reaches_the_caller(kind, pages, name):
    stream = not name.endswith(".json")
    status, answer, chats = await through(kind, pages, [recordings.script(name, seed=3)], chat(stream=stream))

    assert (status, read(answer)) == (200, ("", PARIS, "tool_calls"))
    assert len(chats) == 1


@pytest.mark.parametrize(
    "name", ["ollama/anthropic_tools_stream.sse", "ollama/anthropic_tools.json"], ids=["stream", "whole"]
)
async def test_a_call_of_the_messages_api_reaches_a_caller_of_chat_completions(name):
    body = chat(
        stream=name.endswith(".sse"), stop="END", tool_choice="required", max_tokens=64, temperature=1.5
    )
    status, answer, chats = await through(
        "anthropic", {}, [recordings.script(name, seed=3)], body, headers={"Authorization": "Bearer k"}
    )

    assert (status, read(answer)[1:]) == (
        200,
        ([("get_weather", {"city": "Paris", "unit": "celsius"})], "tool_calls"),
    )
    sent = chats[0]
    assert sent.target == "/v1/messages"
    assert sent.headers["x-api-key"] == "k"
    assert "authorization" not in sent.headers
    assert sent.json["stop_sequences"] == ["END"]
    assert sent.json["tool_choice"] == {"type": "any"}
    assert sent.json["temperature"] == 1
    assert sent.json["tools"][0]["input_schema"]["required"] == ["city"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ollama/anthropic_stream.sse", "Hello! How can I assist you today?"),
        ("ollama/anthropic_plain.json", "Hello! How can I assist you today?"),
    ],
)
async def test_a_chat_without_tools_is_converted_too(name, text):
    body = chat(tools=False, stream=name.endswith(".sse"))
    status, answer, chats = await through(
        "anthropic", {}, [recordings.script(name)], body, headers={"Authorization": "Bearer k"}
    )

    assert (status, read(answer)) == (200, (text, [], "stop"))
    assert chats[0].json["model"] == "asked-for"


async def test_the_last_correction_forces_a_call():
    scripts = [recordings.script(f"ollama/anthropic_{name}.json") for name in ("plain", "tools")]
    body = chat(tool_choice={"type": "function", "function": {"name": "get_weather"}})
    status, answer, chats = await through(
        "anthropic", {}, scripts, body, headers={"Authorization": "Bearer k"}, max_retries=1
    )

    assert (status, read(answer)[2]) == (200, "tool_calls")
    first, second = (sent.json["messages"] for sent in chats)
    assert second[: len(first)] == first
    assert [message["role"] for message in second] == ["user", "assistant", "user"]


async def test_a_caller_of_chat_completions_need_not_keep_signed_thinking():
    thought = {"type": "thinking", "thinking": "Where is that?", "signature": "s1gned"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
    answers = [
        {"content": [thought, use], "stop_reason": "tool_use"},
        {"content": [{"type": "text", "text": "Sunny."}], "stop_reason": "end_turn"},
    ]
    headers = {"Authorization": "Bearer k"}
    asked = chat(thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2048)
    async with (
        ScriptedServer([Script([json.dumps(answer).encode()]) for answer in answers], pages={}) as server,
        running_proxy(server.url, backend="anthropic") as proxy,
        aiohttp.ClientSession(f"{proxy.url}/v1/", headers=headers, raise_for_status=True) as session,
    ):
        async with session.post("chat/completions", json=asked) as response:
            message = (await response.json())["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}
        kept = {name: message[name] for name in ("role", "content", "tool_calls")}  # as SDKs do
        asked["messages"] += [kept, result]
        async with session.post("chat/completions", json=asked) as response:
            assert read(await response.json())[0] == "Sunny."

        assert message["reasoning_content"] == "Where is that?"
        sent = server.chats[1].json
    assert sent["messages"][1] == {"role": "assistant", "content": [thought, use]}
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 1024}


async def test_metadata_of_another_protocol_gets_its_key():
    models = Script([b'{"data":[]}'])
    async with (
        ScriptedServer(pages={"/v1/models": models}) as server,
        running_proxy(server.url, backend="anthropic") as proxy,
        aiohttp.ClientSession() as session,
        session.get(f"{proxy.url}/v1/models", headers={"Authorization": "Bearer k"}) as response,
    ):
        assert response.status == 200
        sent = next(request for request in server.requests if request.target == "/v1/models")

    assert sent.headers["x-api-key"] == "k"
    assert sent.headers["anthropic-version"]
    assert "authorization" not in sent.headers


async def test_vllm_gets_the_name_that_it_serves():
    name = "vllm/smollm2-135m-hermes/chat_plain_stream.sse"
    for tools in (True, False):
        status, answer, chats = await through(
            "vllm", VLLM, [recordings.script(name)], chat(tools=tools, stream=True)
        )
        assert status == 200
        assert read(answer)[0].startswith("I'm glad you're here!")
        assert chats[0].json["model"] == "smollm2-135m-instruct"


async def test_ollama_gets_arguments_as_objects_and_a_schema_where_a_call_is_demanded():
    history = [
        {"role": "user", "content": "Weather in Rome?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "20 C"},
        {"role": "user", "content": "And in Paris?"},
    ]
    whole = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 9}
    whole["message"]["content"] = json.dumps({"name": "get_weather", "arguments": {"city": "Paris"}})
    body = chat(messages=history, tool_choice="required", max_tokens=50)
    status, answer, chats = await through("ollama", OLLAMA, [Script([json.dumps(whole).encode()])], body)

    assert (status, read(answer)) == (200, ("", PARIS, "tool_calls"))
    sent = chats[0].json
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"city": "Rome"}
    assert sent["messages"][2]["tool_name"] == "get_weather"
    assert sent["options"] == {"num_predict": 50}
    assert sent["format"]["properties"]["name"] == {"const": "get_weather"}
    assert sent["model"] == "asked-for"


ERRORS = [
    pytest.param("ollama", OLLAMA, "ollama/err_unknown_model.json", 404, "not found", id="ollama"),
    pytest.param(
        "ollama", OLLAMA, "ollama/long_prompt_truncate_false.json", 400, "exceeds the available", id="nested"
    ),
    pytest.param(
        "anthropic",
        {},
        "ollama/anthropic_err_unknown_model.json",
        404,
        "model 'nope' not found",
        id="anthropic",
    ),
    pytest.param(
        "vllm", VLLM, "vllm/smollm2-135m-hermes/err_context_overflow.json", 400, "maximum context", id="vllm"
    ),
]


@pytest.mark.parametrize(("kind", "pages", "name", "status", "words"), ERRORS)
async def test_a_backends_error_is_the_callers_to_read(kind, pages, name, status, words):
    script = recordings.script(name, status)
    got, answer, _ = await through(kind, pages, [script], chat(), headers={"Authorization": "Bearer k"})

    assert got == status
    assert words in answer["error"]["message"]
    assert "{" not in answer["error"]["message"]
