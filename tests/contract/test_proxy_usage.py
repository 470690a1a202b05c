"""``/forge/usage`` and ``/forge/ready``: what status lines and supervisors are told."""

import json

import aiohttp
import pytest
from servers.running import running_proxy
from servers.scripted import Script, ScriptedServer, error, stream, stream_text, whole_call, whole_text

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
SESSION = {"X-Claude-Code-Session-Id": " s1 "}


async def told(scripts, requests, *, pages=None, **settings):
    """The answers of ``/forge/usage`` after each of ``requests`` (body, headers): its JSON, None for a 204."""
    found = []
    async with (
        ScriptedServer(list(scripts), pages=pages) as server,
        running_proxy(server.url, **{"backend": "llamaserver", **settings}) as proxy,
        aiohttp.ClientSession() as session,
    ):
        for body, headers in requests:
            async with session.post(
                f"{proxy.url}/v1/chat/completions", json=body, headers=headers
            ) as response:
                await response.read()
            async with session.get(f"{proxy.url}/forge/usage") as response:
                text = await response.text()
                assert (response.status, bool(text)) in {(200, True), (204, False)}
                found.append(json.loads(text) if text else None)
    return found


@pytest.mark.parametrize(
    ("script", "more"),
    [
        pytest.param(whole_text("hi"), {}, id="forwarded"),
        pytest.param(stream_text(["h", "i"]), {"stream": True}, id="forwarded-stream"),
        pytest.param(whole_call("f", "{}"), {"tools": [TOOL]}, id="guarded"),
        pytest.param(stream_text(["h", "i"]), {"tools": [TOOL], "stream": True}, id="guarded-stream"),
    ],
)
async def test_the_last_answer_counts(script, more):
    [usage] = await told([script], [({**CHAT, **more}, SESSION)])
    assert usage.pop("observed_at").endswith("Z")
    assert usage == {
        "current_usage_tokens": 20,
        "context_window_tokens": 4096,
        "usage_percent": 20 / 4096 * 100,
        "model": "m",
        "context_window_source": "backend_metadata",
        "session": {"id": "s1", "source": "claude_code"},
    }


async def test_only_the_last_attempt_counts():
    scripts = [whole_call("nope", "{}"), whole_call("f", "{}")]
    [usage] = await told(scripts, [({**CHAT, "tools": [TOOL]}, None)])
    assert usage["current_usage_tokens"] == 20
    assert "session" not in usage


@pytest.mark.parametrize(
    ("settings", "window"),
    [
        pytest.param({"budget_tokens": 100}, (100, "operator_config"), id="configured-first"),
        pytest.param({"backend": "vllm"}, None, id="a-catalogue-without-it"),
        pytest.param({"backend": None}, None, id="any-server"),
    ],
)
async def test_where_the_window_comes_from(settings, window):
    [usage] = await told([whole_text("hi")], [(CHAT, None)], **settings)
    if window is None:
        assert usage is None
    else:
        assert (usage["context_window_tokens"], usage["context_window_source"]) == window


async def test_a_server_that_knows_only_its_own_model_is_called_by_that():
    models = {"object": "list", "data": [{"id": "scripted", "max_model_len": 2048}]}
    pages = {"/v1/models": Script([json.dumps(models).encode()])}
    [usage] = await told([whole_text("hi")], [(CHAT, None)], pages=pages, backend="vllm")
    assert (usage["model"], usage["context_window_tokens"]) == ("scripted", 2048)
    assert usage["context_window_source"] == "backend_metadata"


@pytest.mark.parametrize(
    ("body", "headers", "session"),
    [
        pytest.param({"litellm_session_id": "l"}, None, {"id": "l", "source": "litellm"}, id="body"),
        pytest.param(
            {"litellm_session_id": "l"}, SESSION, {"id": "s1", "source": "claude_code"}, id="header-first"
        ),
        pytest.param({"litellm_session_id": 5}, {"X-Claude-Code-Session-Id": " "}, None, id="neither"),
    ],
)
async def test_sessions(body, headers, session):
    [usage] = await told([whole_text("hi")], [({**CHAT, **body}, headers)])
    assert usage.get("session") == session


KEPT = [
    pytest.param(error(500, "x", "server_error"), {}, None, id="failed"),
    pytest.param(stream([b'data: {"choices": []}\n\n'], cut=True), {"stream": True}, None, id="broken-off"),
    pytest.param(whole_text("hi"), {}, {"X-Claude-Code-Agent-Id": "a"}, id="agent-of-another"),
    pytest.param(whole_text("hi"), {}, {"X-Claude-Code-Parent-Agent-Id": "a"}, id="child-of-another"),
]


@pytest.mark.parametrize(("script", "more", "headers"), KEPT)
async def test_what_does_not_count_leaves_the_snapshot(script, more, headers):
    first, second = await told([whole_text("hi"), script], [(CHAT, None), ({**CHAT, **more}, headers)])
    assert first is not None
    assert second == first


async def test_an_answer_without_tokens_clears_the_snapshot():
    bare = Script(
        [json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}).encode()]
    )
    first, second = await told([whole_text("hi"), bare], [(CHAT, None), (CHAT, None)])
    assert first is not None
    assert second is None


LOADING = {"/health": error(503, "Loading model", "unavailable_error")}


@pytest.mark.parametrize(
    ("pages", "status"),
    [
        pytest.param(None, 200, id="ready"),
        pytest.param(LOADING, 503, id="loading"),
        pytest.param({}, 200, id="no-page"),
    ],
)
async def test_ready_needs_the_backend_and_no_key(pages, status):
    async with (
        ScriptedServer(pages=pages) as server,
        running_proxy(server.url, api_key="k") as proxy,
        aiohttp.ClientSession() as session,
    ):
        for method in ("GET", "HEAD"):
            async with session.request(method, f"{proxy.url}/forge/ready") as response:
                body = await response.text()
                assert response.status == status
                assert ("reason" in body) == (status == 503 and method == "GET")


async def test_not_ready_without_a_backend_and_no_address_is_told():
    async with ScriptedServer() as server:
        port = server.port
    async with running_proxy(f"http://127.0.0.1:{port}") as proxy, aiohttp.ClientSession() as session:
        async with session.get(f"{proxy.url}/forge/ready") as response:
            assert response.status == 503
            assert str(port) not in (await response.json())["reason"]
        async with session.get(f"{proxy.url}/forge/health") as response:
            assert (response.status, await response.json()) == (200, {"status": "ok"})
