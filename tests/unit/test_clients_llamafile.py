import asyncio
import json
import logging

import pytest
from msgspec import Raw, structs
from servers.scripted import (
    PROPS,
    Gate,
    Script,
    ScriptedServer,
    chunk,
    ending,
    error,
    stream,
    stream_call,
    stream_text,
    whole_call,
    whole_text,
)

from forge.clients import sampling
from forge.clients.base import ChunkType, LLMClient, TokenUsage, _capture_usage
from forge.clients.llamafile import LlamafileClient
from forge.core.calls import TextResponse, ToolCall
from forge.core.events import CallDelta, Finish, TextDelta
from forge.core.request import Call, ChatMessage, Constraint, Request, Result, Text, Tool
from forge.errors import (
    BackendError,
    BackendUnreachableError,
    ContextDiscoveryError,
    MalformedOutputError,
    MultipleCredentialsError,
    RequestError,
    StreamError,
    UnsupportedModelError,
)

pytestmark = pytest.mark.anyio

WEATHER = Tool(
    name="get_weather",
    description="Weather of a city",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
USER = ChatMessage(role="user", parts=(Text("hi"),))
ASK = Request(messages=(USER,), stream=True)
TOOLLESS = {"default_generation_settings": {"n_ctx": 2048}, "chat_template_caps": {"supports_tools": False}}


def client_of(server, **options):
    return LlamafileClient("some/model.gguf", f"{server.url}/v1", **options)


async def exchange(client, request=ASK, **options):
    return [delta async for delta in client.exchange(request, **options)]


async def sent(request, *scripts, props=None, **options):
    """The bodies that reached the server."""
    async with ScriptedServer(list(scripts) or [whole_text("ok")], props=props) as server:
        client = client_of(server, **options)
        await exchange(client, request)
        await client.aclose()
        return [chat.json for chat in server.chats]


async def test_an_option_that_is_changed_in_place_counts_from_the_next_request():
    async with ScriptedServer([stream_text("a"), stream_text("b")]) as server:
        client = client_of(server, chat_template_kwargs={"deep": {"a": 1}})
        await exchange(client)
        client.sampling["chat_template_kwargs"]["deep"]["a"] = 2
        await exchange(client)
        await client.aclose()
        assert [chat.json["chat_template_kwargs"]["deep"]["a"] for chat in server.chats] == [1, 2]


# -- construction -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("path/to/model.gguf", "model"),
        ("Mistral-Nemo-Instruct-2407.Q4_K_M.llamafile", "Mistral-Nemo-Instruct-2407.Q4_K_M"),
        ("Qwen3.5-27B", "Qwen3.5-27B"),
    ],
)
def test_the_file_names_the_model(path, model):
    client = LlamafileClient(path)

    assert (client.model, client.sampling_key, client.api_format) == (model, model, "openai")
    assert isinstance(client, LLMClient)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="native"):
        LlamafileClient("m.gguf", mode="magic")


def test_recommended_sampling():
    with pytest.raises(UnsupportedModelError) as caught:
        LlamafileClient("nobody-knows.gguf", recommended_sampling=True)
    assert caught.value.model == "nobody-knows"

    client = LlamafileClient("Qwen3-8B-Q4_K_M.gguf", recommended_sampling=True, top_k=7)
    assert client.sampling == {"min_p": 0.0, "temperature": 0.6, "top_k": 7, "top_p": 0.95}
    assert LlamafileClient("Qwen3-8B-Q4_K_M.gguf").sampling == {}


def test_known_sampling_is_hinted_at_once(caplog):
    sampling._hinted.discard("Ornith-1.5-9B-Q4_K_M")
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            LlamafileClient("Ornith-1.5-9B-Q4_K_M.gguf")

    assert sum("Ornith-1.5-9B-Q4_K_M" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("name", ["id_slot", "slot_id"])
def test_both_names_of_the_slot(name):
    assert LlamafileClient("m.gguf", **{name: 3}).id_slot == 3


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "a", "extra_headers": {"Authorization": "Bearer b"}},
        {"api_key": "a", "base_url": "http://u:p@h/v1"},
        {"extra_headers": {"Authorization": "Bearer b", "x-api-key": "c"}},
    ],
    ids=["key and header", "key and url", "two headers"],
)
def test_two_credentials_are_refused(options):
    with pytest.raises(MultipleCredentialsError) as caught:
        LlamafileClient("m.gguf", **options)
    assert "Bearer b" not in str(caught.value)


@pytest.mark.parametrize("url", ["notaurl", "ftp://h/v1", "http://", "", "http://h:99999/v1"])
def test_a_base_url_that_is_none(url):
    with pytest.raises(BackendUnreachableError):
        LlamafileClient("m.gguf", url)


# -- what goes out ------------------------------------------------------------------------------------------


async def test_the_body_of_a_native_request():
    body = (await sent(structs.replace(ASK, tools=(WEATHER,)), temperature=0.2, id_slot=1))[0]

    assert body["tools"][0]["function"]["name"] == "get_weather"
    assert body | {"tools": 0} == {
        "temperature": 0.2,
        "cache_prompt": True,
        "id_slot": 1,
        "model": "model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": 0,
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_a_requests_own_options_win():
    request = structs.replace(
        ASK, options={"temperature": Raw(b"1.5"), "cache_prompt": Raw(b"false")}, model="x"
    )

    body = (await sent(request, temperature=0.2))[0]

    assert (body["temperature"], body["cache_prompt"], body["model"]) == (1.5, False, "x")


async def test_another_servers_request_has_no_llama_fields():
    async with ScriptedServer([whole_text("ok")], props={"object": "not props"}) as server:
        client = client_of(server)
        await exchange(client)
        assert "cache_prompt" not in server.chats[0].json
        assert (await client.capabilities()).native_tools
        await client.aclose()


CONVERSATION = (
    ChatMessage(role="system", parts=(Text("Be brief."),)),
    USER,
    ChatMessage(
        role="assistant", parts=(Text("Let me look."), Call("c1", "get_weather", '{"city":"Paris"}'))
    ),
    ChatMessage(role="tool", parts=(Result("c1", "18 degrees", "get_weather"),)),
)


@pytest.mark.parametrize(
    ("props", "mode"), [(TOOLLESS, "native"), (None, "prompt")], ids=["template without tools", "prompt mode"]
)
async def test_tools_move_into_the_prompt_where_the_template_knows_none(props, mode):
    request = Request(messages=CONVERSATION, tools=(WEATHER,))

    body = (await sent(request, props=props, mode=mode))[0]

    assert "tools" not in body
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"].startswith("Be brief.")
    assert "get_weather" in body["messages"][0]["content"]
    assert body["messages"][2]["content"] == 'Let me look.\n{"tool":"get_weather","args":{"city":"Paris"}}'
    assert "18 degrees" in body["messages"][3]["content"]


async def test_a_second_attempt_starts_with_the_bytes_of_the_first():
    first = Request(messages=(USER,), tools=(WEATHER,), stream=True)
    second = structs.replace(first, messages=CONVERSATION[1:], constraint=Constraint(tools=(WEATHER,)))
    async with ScriptedServer([whole_text("a"), whole_text("b")]) as server:
        client = client_of(server)
        await exchange(client, first)
        await exchange(client, second)
        await client.aclose()
        bodies = [chat.body for chat in server.chats]

    assert bodies[1].startswith(bodies[0].removesuffix(b"]}"))


# -- constraints --------------------------------------------------------------------------------------------

CONSTRAINED = Request(messages=(USER,), tools=(WEATHER,), constraint=Constraint(tools=(WEATHER,)))


async def test_a_constraint_is_a_schema_beside_the_same_tools():
    body = (await sent(CONSTRAINED))[0]

    schema = body["response_format"]["json_schema"]["schema"]
    assert body["response_format"]["type"] == "json_schema"
    assert schema["properties"]["name"]["const"] == "get_weather"
    assert body["tools"]


@pytest.mark.parametrize("status", [400, 500])
async def test_a_refused_constraint_does_not_fail_the_turn(status, caplog):
    bodies = await sent(CONSTRAINED, error(status, "Unable to generate parser", "x"), whole_text("ok"))

    assert ["response_format" in body for body in bodies] == [True, False]
    assert "constraint" in caplog.text


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(error(401, "Invalid API Key", "authentication_error"), id="key"),
        pytest.param(error(400, "request (9 tokens) exceeds", "exceed_context_size_error"), id="context"),
        pytest.param(error(503, "Loading model", "unavailable_error"), id="loading"),
    ],
)
async def test_errors_that_are_not_the_constraints_fault_are_not_tried_again(script):
    async with ScriptedServer([script, whole_text("ok")]) as server:
        client = client_of(server)
        with pytest.raises(BackendError):
            await exchange(client, CONSTRAINED)
        assert len(server.chats) == 1
        await client.aclose()


async def test_an_error_without_a_constraint_is_not_tried_again():
    async with ScriptedServer([error(500, "boom", "server_error"), whole_text("ok")]) as server:
        client = client_of(server)
        with pytest.raises(BackendError):
            await exchange(client)
        assert len(server.chats) == 1
        await client.aclose()


# -- what comes back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("script", [stream_text(["a", "b"]), whole_text("ab")], ids=["streamed", "whole"])
async def test_an_answer_is_understood_streamed_or_not_whatever_was_asked(asked, script):
    async with ScriptedServer([script]) as server:
        client = client_of(server)
        deltas = await exchange(client, structs.replace(ASK, stream=asked))
        await client.aclose()

    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "ab"
    assert isinstance(deltas[-1], Finish)


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream"])
async def test_a_stream_under_a_wrong_content_type(kind):
    script = stream_text(["a"])
    script.headers = {"Content-Type": kind}
    async with ScriptedServer([script]) as server:
        client = client_of(server)
        assert TextDelta("a") in await exchange(client)
        await client.aclose()


FAULTS = [
    pytest.param(stream([chunk({"content": "a"})]), StreamError, id="no end"),
    pytest.param(
        stream([chunk({"content": "a"}), b'data: {"choi'], cut=True), StreamError, id="cut in a line"
    ),
    pytest.param(stream([]), StreamError, id="nothing"),
    pytest.param(stream([b"data: nonsense\n\n"]), BackendError, id="no json"),
    pytest.param(stream([b'data: {"error":{"message":"boom"}}\n\n']), BackendError, id="error event"),
    pytest.param(
        stream(
            [
                b'data: {"error":{"code":500,"message":"The model produced output that does not match the expected x"}}\n\n'
            ]
        ),
        MalformedOutputError,
        id="malformed output",
    ),
    pytest.param(
        Script([b"<html>hello</html>"], 200, {"Content-Type": "text/html"}), BackendError, id="a web page"
    ),
    pytest.param(
        Script([b"<html>Bad Gateway</html>"], 502, {"Content-Type": "text/html"}), BackendError, id="502 page"
    ),
    pytest.param(Script([b""], 500, {"Content-Type": "text/plain"}), BackendError, id="500 without a body"),
    pytest.param(Script([b"{}"], 200), BackendError, id="no choices"),
    pytest.param(error(429, "busy", "rate_limit", {"Retry-After": "3"}), BackendError, id="429"),
]


@pytest.mark.parametrize(("script", "kind"), FAULTS)
async def test_faults_are_typed(script, kind):
    async with ScriptedServer([script]) as server:
        client = client_of(server)
        with pytest.raises(kind) as caught:
            await exchange(client)
        assert "<" not in str(caught.value)
        await client.aclose()


async def test_what_came_before_an_error_event_is_given_out():
    script = stream([chunk({"content": "a"}) + b'data: {"error":{"message":"boom"}}\n\n'])
    async with ScriptedServer([script]) as server:
        client = client_of(server)
        deltas = client.exchange(ASK)
        await anext(deltas)
        assert await anext(deltas) == TextDelta("a")
        with pytest.raises(BackendError):
            await anext(deltas)
        await client.aclose()


async def test_an_old_servers_echo_of_unparsed_output_is_the_answer():
    written = "<tool_call><function=get_weather><parameter=city>Paris</parameter></function></tool_call>"
    async with ScriptedServer([error(500, f"Failed to parse: {written}", "server_error")]) as server:
        client = client_of(server)
        deltas = await exchange(client)
        await client.aclose()

    assert [d for d in deltas if isinstance(d, TextDelta)] == [TextDelta(written)]
    assert isinstance(deltas[-1], Finish)


async def test_tokens_come_as_they_are_generated():
    gate = Gate()
    async with ScriptedServer([stream([chunk({"content": "a"}), gate, *ending()])]) as server:
        client = client_of(server)
        deltas = client.exchange(ASK)
        async for delta in deltas:
            if delta == TextDelta("a"):
                gate.set()
        await client.aclose()


async def test_a_server_that_never_hangs_up_does_not_hold_the_answer():
    async with ScriptedServer([stream([chunk({"content": "a"}), *ending(), Gate()])]) as server:
        client = client_of(server)
        async with asyncio.timeout(30):
            deltas = await exchange(client)
        await client.aclose()

    assert isinstance(deltas[-1], Finish)


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_leaving_closes_the_connection(how):
    async with ScriptedServer([stream([chunk({"content": "a"}), Gate()])]) as server:
        client = client_of(server)
        deltas = client.exchange(ASK)
        await anext(deltas)
        await anext(deltas)
        if how == "close":
            await deltas.aclose()
        else:
            waiting = asyncio.ensure_future(anext(deltas))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(30):
            await server.chats[0].gone.wait()
        await client.aclose()


# -- probing ------------------------------------------------------------------------------------------------


async def test_capabilities_are_probed_once():
    async with ScriptedServer([whole_text("a")], props=TOOLLESS) as server:
        client = client_of(server)
        able = await client.capabilities()
        await exchange(client)
        await client.aclose()
        probes = [r for r in server.requests if r.target == "/props"]

    assert (able.native_tools, able.context_length, able.constrains) == (False, 2048, True)
    assert able.tool_choice_modes == {"auto", "none"}
    assert len(probes) == 1


async def test_prompt_mode_is_never_native():
    async with ScriptedServer() as server:
        client = client_of(server, mode="prompt")
        assert not (await client.capabilities()).native_tools
        await client.aclose()


async def test_another_server_on_the_port_is_probed_anew():
    async with ScriptedServer([], props=TOOLLESS) as server:
        client = client_of(server)
        assert not (await client.capabilities()).native_tools
    with pytest.raises(BackendUnreachableError):
        await exchange(client)
    successor = ScriptedServer([])
    async with await asyncio.start_server(successor._accept, "127.0.0.1", server.port):
        assert (await client.capabilities()).native_tools
        await client.aclose()


@pytest.mark.parametrize(
    ("props", "length"), [(TOOLLESS, 2048), ({}, None), ({"default_generation_settings": {}}, None)], ids=str
)
async def test_context_length(props, length):
    async with ScriptedServer([], props=props) as server:
        client = client_of(server)
        assert await client.get_context_length() == length
        await client.aclose()


async def test_context_length_that_cannot_be_read():
    class Nonsense(ScriptedServer):
        def _script(self, request):
            return Script([b"<html>"])

    async with Nonsense() as server:
        client = client_of(server)
        with pytest.raises(ContextDiscoveryError):
            await client.get_context_length()
        await client.aclose()


# -- credentials --------------------------------------------------------------------------------------------


async def test_keys_and_headers_reach_every_call_and_no_log(caplog):
    with caplog.at_level(logging.DEBUG):
        async with ScriptedServer([whole_text("a"), whole_text("b")]) as server:
            client = client_of(server, api_key="s3cret", extra_headers={"x-team": "blue"})
            await exchange(client)
            await exchange(client, headers={"x-team": "red"})
            await client.aclose()

    assert {r.headers["authorization"] for r in server.requests} == {"Bearer s3cret"}
    assert [r.headers["x-team"] for r in server.chats] == ["blue", "red"]
    assert "s3cret" not in caplog.text


async def test_a_calls_own_key():
    async with ScriptedServer([whole_text("a"), whole_text("b")]) as server:
        client = client_of(server)
        await exchange(client, headers={"Authorization": "Bearer mine"})
        await exchange(client)
        await client.aclose()

    assert [r.headers.get("authorization") for r in server.chats] == ["Bearer mine", None]


async def test_a_calls_key_beside_the_clients_is_refused():
    client = LlamafileClient("m.gguf", api_key="a")
    with pytest.raises(MultipleCredentialsError):
        await exchange(client, headers={"x-api-key": "b"})
    await client.aclose()


async def test_a_server_that_wants_a_key_for_its_properties():
    class Locked(ScriptedServer):
        def _script(self, request):
            if request.headers.get("authorization") != "Bearer mine":
                return error(401, "Invalid API Key", "authentication_error")
            return super()._script(request)

    async with Locked([whole_text("a")], props=TOOLLESS) as server:
        client = client_of(server)
        assert (await client.capabilities()).native_tools
        await exchange(client, headers={"Authorization": "Bearer mine"})
        assert not (await client.capabilities()).native_tools
        await client.aclose()


# -- the public contract ------------------------------------------------------------------------------------


async def send(script, method="send", props=None, **options):
    messages = [{"role": "user", "content": "hi"}]
    async with ScriptedServer([script], props=props) as server:
        client = client_of(server, **options.pop("client", {}))
        with _capture_usage() as capture:
            if method == "send":
                response = await client.send(messages, tools=[WEATHER], **options)
            else:
                chunks = [c async for c in client.send_stream(messages, tools=[WEATHER], **options)]
                assert [c.type for c in chunks][-1] is ChunkType.FINAL
                response = chunks[-1].response
        await client.aclose()
        return response, capture.usage, server.chats[0].json, client


@pytest.mark.parametrize(
    ("method", "text", "call"),
    [
        ("send", whole_text("hello"), whole_call("get_weather", '{"city":"Paris"}')),
        ("send_stream", stream_text(["hel", "lo"]), stream_call("get_weather", ['{"city":', '"Paris"}'])),
    ],
)
async def test_the_contracts_answers(method, text, call):
    response, usage, body, client = await send(text, method)
    assert response == TextResponse("hello")
    assert usage == TokenUsage(20, 7, 27)
    assert client.last_usage == {0: usage}
    assert body.get("stream", False) is (method == "send_stream")

    response, *_ = await send(call, method)
    assert response == [ToolCall("get_weather", {"city": "Paris"})]
    assert response[0].id == "y5UT8hB7OF5maZQTHo66Ac4um4AmuZwl"


async def test_arguments_that_are_no_json_are_shown_as_they_are():
    response, *_ = await send(whole_call("get_weather", "{oops"))

    assert response == [ToolCall("get_weather", "{oops")]


async def test_text_beside_a_call_is_its_reasoning_unless_thinking_is_off():
    script = whole_call("get_weather", "{}", content="I should look.")
    on, *_ = await send(script)
    off, *_ = await send(script, client={"think": False})

    assert on[0].reasoning == "I should look."
    assert off[0].reasoning is None


async def test_think_blocks_are_not_part_of_the_text():
    response, *_ = await send(whole_text("<think>hm</think>\n\nhello"))

    assert response == TextResponse("hello")


async def test_prompt_mode_reads_calls_out_of_the_text():
    script = whole_text('{"tool": "get_weather", "args": {"city": "Paris"}}')
    response, _, body, client = await send(script, props=TOOLLESS)

    assert response == [ToolCall("get_weather", {"city": "Paris"})]
    assert client.rescued_tool_calls == 1
    assert "tools" not in body


@pytest.mark.parametrize("method", ["send", "send_stream"])
async def test_prompt_mode_takes_the_calls_of_a_server_that_makes_some_all_the_same(method):
    script = (
        whole_call("get_weather", '{"city": "Paris"}')
        if method == "send"
        else stream_call("get_weather", ['{"city": ', '"Paris"}'])
    )
    response, *_ = await send(script, method=method, props=TOOLLESS)

    assert response == [ToolCall("get_weather", {"city": "Paris"})]


async def test_what_a_constraint_leaves_out_is_told_once(caplog):
    caplog.set_level(logging.INFO, logger="forge.clients")
    odd = Tool(
        name="odd",
        parameters={"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)x+"}}},
    )
    request = Request(messages=(USER,), tools=(odd,), constraint=Constraint(tools=(odd,)))
    async with ScriptedServer([whole_text("{}"), whole_text("{}")]) as server:
        client = client_of(server)
        await exchange(client, request)
        await exchange(client, request)
        await client.aclose()

    (line,) = [r.getMessage() for r in caplog.records if "constrained decoding" in r.getMessage()]
    assert "odd: " in line
    assert "pattern" in line


async def test_sampling_and_passthrough_reach_the_body():
    _, _, body, _ = await send(
        whole_text("a"),
        sampling={"temperature": 0.1, "top_p": None},
        passthrough={
            "max_tokens": 5,
            "temperature": 0.9,
            "messages": [],
            "stream": True,
            "tool_choice": "auto",
        },
        client={"top_p": 0.5},
    )

    assert (body["temperature"], body["top_p"], body["max_tokens"], body["tool_choice"]) == (
        0.1,
        0.5,
        5,
        "auto",
    )
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert "stream" not in body


async def test_raw_tools_go_out_as_they_are():
    raw = [{"type": "function", "function": {"name": "f", "parameters": {"x-vendor": 1}}}]
    _, _, body, _ = await send(whole_text("a"), raw_openai_tools=raw)

    assert body["tools"] == raw


async def test_messages_that_are_wrong_are_the_callers_error():
    client = LlamafileClient("m.gguf")
    with pytest.raises(RequestError, match="role"):
        await client.send([{"content": "x"}])
    await client.aclose()


async def test_whatever_arrives_split_is_the_same_call():
    script = stream_call("get_weather", list('{"city":"Paris"}'))
    async with ScriptedServer([script]) as server:
        client = client_of(server)
        deltas = await exchange(client)
        await client.aclose()

    arguments = "".join(d.arguments for d in deltas if isinstance(d, CallDelta))
    assert json.loads(arguments) == {"city": "Paris"}


# -- the tokenizer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "tokens", "questions"),
    [
        pytest.param(Script([b'{"tokens": [1, 2, 3]}']), 3, 2, id="counted"),
        pytest.param(error(404, "File Not Found", "not_found_error"), None, 1, id="no tokenizer"),
        pytest.param(Script([b"garbage"]), None, 1, id="garbage"),
    ],
)
async def test_texts_are_counted_by_the_server(page, tokens, questions):
    async with ScriptedServer(
        [], pages={"/tokenize": page, "/props": Script([json.dumps(PROPS).encode()])}
    ) as server:
        client = client_of(server)
        assert [await client.count_tokens(text) for text in ("one", "two")] == [tokens, tokens]
        assert sum(r.target == "/tokenize" for r in server.requests) == questions
        await client.aclose()


async def test_without_a_server_there_is_no_count():
    client = LlamafileClient("m.gguf", "http://127.0.0.1:9/v1")
    assert await client.count_tokens("text") is None
    await client.aclose()
