"""The proxy in front of a scripted llama-server, over real sockets, as a raw HTTP client sees it."""

import asyncio
import json
import logging

import pytest
from servers.ports import free_port
from servers.proxied import PARIS, WEATHER, Client, Setup, calls_of, chat, events, text_of
from servers.running import running_proxy
from servers.scripted import (
    Gate,
    Script,
    chunk,
    ending,
    error,
    stream,
    stream_call,
    stream_text,
    whole_call,
    whole_text,
)

pytestmark = pytest.mark.anyio

# -- answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/chat/completions", "/v1/chat/completions?beta=true"]
)
async def test_an_unguarded_chat_passes_byte_for_byte(path):
    sent = b'{"messages" : [ {"role":"user","content":"hi"} ],  "temperature": 0.10, "x_unknown": [1e3]}'
    script = whole_text("Hello")
    async with Setup([script]) as s:
        status, _, body = await s.client.post(sent, path=path)
    assert (status, body) == (200, script.steps[0])
    assert s.backend.chats[0].body == sent


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(whole_text("It is sunny."), id="text"),
        pytest.param(whole_call("get_weather", PARIS), id="call"),
        pytest.param(whole_call("get_weather", PARIS, content="Let me see."), id="text-and-call"),
        pytest.param(whole_text("It is sun", "length"), id="cut-text"),
    ],
)
async def test_a_valid_answer_passes_byte_for_byte_in_one_backend_call(script):
    async with Setup([script]) as s:
        status, headers, body = await s.client.post(chat())
    assert (status, body) == (200, script.steps[0])
    assert headers["content-type"].startswith("application/json")
    assert len(s.backend.chats) == 1


async def test_a_call_written_as_text_becomes_a_call():
    written = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'
    async with Setup([whole_text(written)]) as s:
        _, _, body = await s.client.post(chat())
    choice = json.loads(body)["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    function = choice["message"]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("get_weather", {"city": "Paris"})
    assert len(s.backend.chats) == 1


async def test_a_retry_only_appends():
    async with Setup([whole_call("get_wether", PARIS), whole_call("get_weather", PARIS)]) as s:
        _, _, body = await s.client.post(chat(temperature=0.5, seed=7))
    first, second = (r.body for r in s.backend.chats)
    assert second.startswith(first.rstrip(b"]}"))
    assert len(json.loads(second)["messages"]) > len(json.loads(first)["messages"])
    answer = json.loads(body)
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert answer["usage"]["completion_tokens"] == 14  # both attempts


async def test_exhausted_corrections_give_the_models_text_and_no_error():
    bad = [whole_call("nothing_like_it", "{}") for _ in range(9)]
    async with Setup(bad, max_retries=1) as s:
        status, _, body = await s.client.post(chat())
    assert status == 200
    message = json.loads(body)["choices"][0]["message"]
    assert not message.get("tool_calls")
    assert len(s.backend.chats) == 2


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"n": 2}, id="several-choices"),
        pytest.param({"tools": []}, id="empty-tools"),
        pytest.param({"tools": None}, id="null-tools"),
        pytest.param({"tools": [{"type": "web_search"}]}, id="other-tool-kinds"),
    ],
)
async def test_nothing_to_guard_passes_untouched(fields):
    sent = json.dumps({**chat(), **fields}).encode()
    script = whole_text('<tool_call>{"name": "nope"}</tool_call>')
    async with Setup([script]) as s:
        _, _, body = await s.client.post(sent)
    assert body == script.steps[0]
    assert s.backend.chats[0].body == sent


@pytest.mark.parametrize("tools", [True, False])
async def test_the_configured_model_is_for_requests_that_name_none(tools):
    async with Setup([whole_text("a"), whole_text("b")], model="configured") as s:
        await s.client.post(chat(tools=tools))
        await s.client.post(chat(tools=tools, model=None))
    assert [r.json["model"] for r in s.backend.chats] == ["m", "configured"]


# -- streams ------------------------------------------------------------------------------------------------


async def test_an_unguarded_stream_passes_byte_for_byte():
    script = stream_text(["Hel", "lo"])
    async with Setup([script]) as s:
        status, headers, body = await s.client.post(chat(tools=False, stream=True))
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert body == b"".join(script.steps)


@pytest.mark.parametrize("tools", [True, False])
async def test_text_arrives_token_by_token(tools):
    gate = Gate()
    async with (
        Setup([stream_text(["It is ", gate, "sunny."])]) as s,
        s.client.session.post(
            s.client.url + "/v1/chat/completions", json=chat(tools=tools, stream=True)
        ) as response,
    ):
        received = b""
        while b"It is" not in received:
            received += await asyncio.wait_for(response.content.readany(), 30)
        assert b"sunny" not in received
        gate.set()
        received += await response.read()
    parsed = events(received)
    assert text_of(parsed) == "It is sunny."
    assert parsed[-1] == "[DONE]"
    assert len(s.backend.chats) == 1


async def test_a_streamed_call_arrives_whole():
    async with Setup(
        [stream_call("get_weather", ['{"ci', 'ty": "Pa', 'ris"}'], text=["Let me ", "see."])]
    ) as s:
        _, _, body = await s.client.post(chat(stream=True))
    parsed = events(body)
    calls = calls_of(parsed)
    assert text_of(parsed) == "Let me see."
    assert [json.loads(c["function"]["arguments"]) for c in calls] == [{"city": "Paris"}]
    assert [e["choices"][0]["finish_reason"] for e in parsed if e != "[DONE]" and e["choices"]][
        -1
    ] == "tool_calls"


async def test_chunks_keep_the_backends_identity():
    async with Setup([stream_text(["Hi"])]) as s:
        _, _, body = await s.client.post(chat(stream=True))
    chunks = [e for e in events(body) if e != "[DONE]"]
    assert {c["id"] for c in chunks} == {"chatcmpl-scripted"}
    assert {c["model"] for c in chunks} == {"scripted"}
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"


@pytest.mark.parametrize(("options", "count"), [({"include_usage": True}, 1), (None, 0)])
async def test_usage_comes_when_it_was_asked_for(options, count):
    more = {"stream_options": options} if options else {}
    async with Setup([stream_text(["Hi"])]) as s:
        _, _, body = await s.client.post(chat(stream=True, **more))
    used = [e["usage"] for e in events(body) if e != "[DONE]" and e.get("usage")]
    assert [u["completion_tokens"] for u in used] == [7] * count


async def test_a_retry_within_a_stream():
    async with Setup([stream_call("get_wether", [PARIS]), stream_call("get_weather", [PARIS])]) as s:
        _, _, body = await s.client.post(chat(stream=True))
    assert [c["function"]["name"] for c in calls_of(events(body))] == ["get_weather"]
    first, second = (r.body for r in s.backend.chats)
    assert second.startswith(first.rstrip(b"]}"))


async def test_comments_while_the_model_is_silent():
    from forge.proxy.limits import Limits

    gate = Gate()
    script = stream([gate, chunk({"content": "Hi"}), *ending()])
    async with (
        Setup([script], limits=Limits(heartbeat_seconds=0.05)) as s,
        s.client.session.post(s.client.url + "/v1/chat/completions", json=chat(stream=True)) as response,
    ):
        assert (await asyncio.wait_for(response.content.readline(), 30)).startswith(b":")
        gate.set()
        rest = await response.read()
    assert text_of(events(rest)) == "Hi"


# -- the client goes away ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_client_that_goes_away_ends_the_backend_call(tools, streamed):
    script = stream_text(["Hi", Gate()]) if streamed else Script([b"{", Gate()])
    async with Setup([script]) as s:
        request = asyncio.create_task(s.client.post(chat(tools=tools, stream=streamed)))
        recorded = await asyncio.wait_for(s.backend.chat(), 30)
        request.cancel()
        await asyncio.wait_for(recorded.gone.wait(), 8)


# -- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_the_backends_errors_pass_with_status_message_and_retry_after(status, tools, streamed):
    async with Setup([error(status, "no luck", "some_error", {"Retry-After": "7"})]) as s:
        got, headers, body = await s.client.post(chat(tools=tools, stream=streamed))
    assert got == status
    assert headers["retry-after"] == "7"
    assert json.loads(body)["error"]["message"] == "no luck"
    assert len(s.backend.chats) == 1


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
async def test_no_backend_is_a_502_without_credentials(tools, streamed):
    url = f"http://user:s3cret@127.0.0.1:{free_port()}"
    async with running_proxy(url) as runtime, Client(runtime.url) as client:
        status, _, body = await client.post(chat(tools=tools, stream=streamed))
    assert status == 502
    assert b"s3cret" not in body
    assert json.loads(body)["error"]["code"] == "backend_unreachable"


@pytest.mark.parametrize("tools", [True, False])
async def test_a_silent_backend_is_a_504(tools):
    async with Setup([stream([Gate()])], backend_timeout=0.2) as s:
        # the head of a chunked answer is already there, so the silence is in its body
        status, _, body = await s.client.post(chat(tools=tools))
    assert status in {502, 504}
    assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(stream([chunk({"content": "Hi"})], cut=True), id="broken-connection"),
        pytest.param(
            stream(
                [
                    chunk({"content": "Hi"}),
                    b'data: {"error":{"code":500,"message":"boom","type":"server_error"}}\n\n',
                ]
            ),
            id="error-frame",
        ),
    ],
)
async def test_an_error_inside_a_stream_is_an_event_and_no_success(script, tools):
    async with Setup([script]) as s:
        status, _, body = await s.client.post(chat(tools=tools, stream=True))
    parsed = events(body)
    assert status == 200
    assert "message" in parsed[-1]["error"]
    assert "[DONE]" not in parsed


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        pytest.param(b"", 400, None, id="empty"),
        pytest.param(b"{", 400, None, id="cut"),
        pytest.param(b"[1]", 400, None, id="no-object"),
        pytest.param(b'"x"', 400, None, id="a-string"),
        pytest.param(b'{"messages": [], "x": "\xff"}', 400, None, id="no-utf-8"),
        pytest.param(b'{"messages": ' + b"[" * 100_000, 400, None, id="deep"),
        pytest.param({"model": "m"}, 400, "messages", id="no-messages"),
        pytest.param({"messages": "hi"}, 400, "messages", id="messages-no-list"),
        pytest.param({"messages": [{"role": "user"}, 3]}, 400, "messages[1]", id="message-no-object"),
        pytest.param({**chat(), "tools": {"a": 1}}, 400, "tools", id="tools-no-list"),
        pytest.param({**chat(), "tools": ["x"]}, 400, "tools[0]", id="tool-no-object"),
        pytest.param(
            {**chat(), "tools": [{"type": "function", "function": {}}]},
            400,
            "tools[0].function.name",
            id="nameless",
        ),
        pytest.param({**chat(), "stream": "yes"}, 400, "stream", id="stream-no-bool"),
        pytest.param({**chat(), "tool_choice": 3}, 400, "tool_choice", id="tool-choice"),
    ],
)
async def test_bad_requests_name_the_field(body, status, param):
    async with Setup() as s:
        got, _, answer = await s.client.post(body)
    failure = json.loads(answer)["error"]
    assert got == status
    assert failure["type"] == "invalid_request_error"
    assert failure["param"] == param or (param and str(failure["param"]).startswith(param))
    assert s.backend.chats == []


async def test_tools_that_are_no_schemas_are_guarded_for_what_is_understood():
    odd = {"type": "function", "function": {"name": "odd", "parameters": {"type": "objekt", "properties": 3}}}
    script = whole_call("odd", '{"x": 1}')
    async with Setup([script]) as s:
        status, _, body = await s.client.post({**chat(), "tools": [odd, WEATHER]})
    assert (status, body) == (200, script.steps[0])


async def test_bodies_beyond_the_limit():
    from forge.proxy.limits import Limits

    async def pieces():
        for _ in range(20):
            yield b" " * 1000

    async with Setup(limits=Limits(body_bytes=10_000)) as s:
        assert (await s.client.post(b" " * 10_001))[0] == 413
        async with s.client.session.post(s.client.url + "/v1/chat/completions", data=pieces()) as response:
            assert response.status == 413
            assert (await response.json())["error"]["type"] == "invalid_request_error"


async def test_compressed_bodies_are_refused():
    async with Setup() as s:
        status, _, _ = await s.client.post(b"x", headers={"content-encoding": "gzip"})
    assert status == 415


# -- other routes -----------------------------------------------------------------------------------------------


async def test_health():
    async with Setup(api_key="k") as s:
        assert (await s.client.get("/forge/health"))[::2] == (200, b'{"status":"ok"}')
        assert (await s.client.get("/forge/health", method="HEAD"))[::2] == (200, b"")
    assert not any(r.target == "/forge/health" for r in s.backend.requests)


@pytest.mark.parametrize("path", ["/v1/models", "/models", "/props", "/health"])
async def test_metadata_is_handed_through(path):
    async with Setup() as s:
        status, headers, body = await s.client.get(path + "?a=b")
        assert status == 200
        assert headers["content-type"].startswith("application/json")
        assert json.loads(body)
    assert s.backend.requests[-1].target == path + "?a=b"


async def test_models_without_a_backend():
    url = f"http://127.0.0.1:{free_port()}"
    async with running_proxy(url) as runtime, Client(runtime.url) as client:
        status, _, body = await client.get("/v1/models")
    assert status == 502
    assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("POST", "/v1/chat/completions/", 404),
        ("GET", "/props/../v1/models", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models", 405),
        ("OPTIONS", "/v1/chat/completions", 405),
    ],
)
async def test_wrong_routes_and_methods(method, path, status):
    from yarl import URL

    async with (
        Setup() as s,
        s.client.session.request(method, URL(s.client.url + path, encoded=True)) as response,
    ):
        assert response.status == status
        assert (await response.json())["error"].keys() == {"message", "type", "param", "code"}
        assert "access-control-allow-origin" not in response.headers


async def test_a_base_url_with_a_path_too_much_is_said_and_logged(caplog):
    with caplog.at_level(logging.INFO, "forge.proxy"):
        async with Setup() as s:
            status, _, answer = await s.client.post(chat(), path="/v1/v1/chat/completions")
            _, _, anthropics = await s.client.post(chat(), path="/v1/v1/messages")
    assert status == 404
    assert "base URL has a /v1 too much" in json.loads(answer)["error"]["message"]
    assert json.loads(anthropics)["type"] == "error"
    [line, _] = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert line.startswith("refused 404 POST '/v1/v1/chat/completions'")


async def test_web_pages_of_other_sites_are_refused():
    async with Setup() as s:
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
            status, answer, _ = await s.client.post(chat(), headers=headers)
            assert status == 403
            assert "access-control-allow-origin" not in answer
    assert s.backend.chats == []


# -- credentials ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools", [True, False])
async def test_a_callers_credential_goes_to_the_backend(tools):
    async with Setup([whole_text("a"), whole_text("b")]) as s:
        await s.client.post(chat(tools=tools), headers={"authorization": "Bearer one", "cookie": "c=1"})
        await s.client.post(chat(tools=tools), headers={"x-api-key": "two"})
    first, second = (r.headers for r in s.backend.chats)
    assert (first["authorization"], "cookie" in first) == ("Bearer one", False)
    assert (second["x-api-key"], "authorization" in second) == ("two", False)


@pytest.mark.parametrize("tools", [True, False])
async def test_the_configured_key_replaces_the_callers_key(tools):
    async with Setup([whole_text("a")], backend_api_key="theirs", api_key="mine") as s:
        assert (await s.client.post(chat(tools=tools)))[0] == 401
        assert (await s.client.post(chat(tools=tools), headers={"authorization": "Bearer mine"}))[0] == 200
    assert [r.headers["authorization"] for r in s.backend.chats] == ["Bearer theirs"]


async def test_two_identities_are_the_callers_fault():
    async with Setup() as s:
        status, _, body = await s.client.post(chat(), headers={"authorization": "Bearer a", "x-api-key": "b"})
    assert status == 400
    assert json.loads(body)["error"]["code"] == "multiple_credentials"


# -- the backend's abilities ------------------------------------------------------------------------------------


async def test_a_backend_without_tools_gets_them_in_the_prompt():
    from servers.scripted import PROPS

    written = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'
    setup = Setup([whole_text(written)])
    setup.backend.props = {
        **PROPS,
        "chat_template_caps": {"supports_tools": False, "supports_tool_calls": False},
    }
    async with setup as s:
        _, _, body = await s.client.post(chat())
    assert "tools" not in s.backend.chats[0].json
    assert "get_weather" in json.dumps(s.backend.chats[0].json["messages"])
    assert json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"


async def test_a_demanded_call_is_constrained_from_the_first_attempt():
    constrained = whole_text(f'{{"name": "get_weather", "arguments": {PARIS}}}')
    async with Setup([constrained], backend="llamaserver") as s:
        _, _, body = await s.client.post(chat(tool_choice="required"))
    asked = s.backend.chats[0].json
    assert {"response_format", "json_schema", "grammar"} & asked.keys()
    call = json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Paris"})


async def test_the_respond_tool_streams_as_text():
    pieces = ['{"message": "It is ', "sunny", '."}']
    async with Setup([stream_call("respond", pieces)], inject_respond_tool=True) as s:
        _, _, body = await s.client.post(chat(stream=True))
    parsed = events(body)
    assert (text_of(parsed), calls_of(parsed)) == ("It is sunny.", [])
    assert "respond" in json.dumps(s.backend.chats[0].json["tools"])
