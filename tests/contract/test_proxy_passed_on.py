"""Routes that the proxy passes on: what a backend says of itself, and answers in which nothing can be guarded."""

import asyncio
import json

import aiohttp
import pytest
from servers.running import running_proxy
from servers.scripted import Gate, Script, ScriptedServer, error, stream
from yarl import URL

pytestmark = pytest.mark.anyio


def page(document, **more):
    return Script([json.dumps(document).encode()], **more)


COMPLETION = page({"object": "text_completion", "choices": [{"text": "x"}], "usage": {"prompt_tokens": 3}})


async def asked(method, path, pages, body=None, *, headers=None, data=None, **settings):
    """Status, headers and body of the proxy's answer, and the requests that the backend got for that path."""
    async with (
        ScriptedServer(pages=pages) as server,
        running_proxy(server.url, **settings) as proxy,
        aiohttp.ClientSession() as session,
    ):
        seen = len(server.requests)
        url = f"{proxy.url}{path}"
        async with session.request(method, url, json=body, data=data, headers=headers) as response:
            answer = await response.read()
        return response.status, response.headers, answer, server.requests[seen:]


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings"])
async def test_a_post_is_passed_on_byte_for_byte(path):
    sent = b'{ "model":"m",\n "input" : [1.0, "\\u00fc"] }'
    status, headers, answer, [request] = await asked(
        "POST", path, {path: COMPLETION}, data=sent, headers={"Authorization": "Bearer k"}
    )
    assert (status, answer) == (200, COMPLETION.steps[0])
    assert headers["x-request-id"].startswith("req_")
    assert (request.target, request.body) == (path, sent)
    assert request.headers["authorization"] == "Bearer k"


async def test_a_streamed_completion_passes_token_by_token():
    gate = Gate()
    script = stream([b'data: {"choices": [{"text": "a"}]}\n\n', gate, b"data: [DONE]\n\n"])
    async with (
        ScriptedServer(pages={"/v1/completions": script}) as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/completions", json={"prompt": "x", "stream": True}) as response,
    ):
        assert response.content_type == "text/event-stream"
        assert b'"a"' in await asyncio.wait_for(response.content.readany(), 30)
        gate.set()
        assert (await response.content.read()).endswith(b"data: [DONE]\n\n")


async def test_a_client_that_goes_away_ends_the_backends_work():
    script = stream([b"data: 1\n\n", Gate()])
    async with (
        ScriptedServer(pages={"/v1/completions": script}) as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
    ):
        response = await session.post(f"{proxy.url}/v1/completions", json={"prompt": "x", "stream": True})
        await response.content.readany()
        response.close()
        [request] = [each for each in server.requests if each.method == "POST"]
        await asyncio.wait_for(request.gone.wait(), 8)


async def test_a_stream_that_breaks_off_ends_in_an_error_event():
    script = stream([b'data: {"choices": []}\n\n'], cut=True)
    body = {"prompt": "x", "stream": True}
    status, _, answer, _ = await asked("POST", "/v1/completions", {"/v1/completions": script}, body)
    assert status == 200
    assert "error" in json.loads(answer.decode().rpartition("data: ")[2])


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_backends_own_error_comes_back(streamed):
    status, _, answer, _ = await asked("POST", "/v1/embeddings", {}, {"input": "x", "stream": streamed})
    assert status == 404
    assert json.loads(answer)["error"]["message"] == "File Not Found"
    busy = {"/v1/embeddings": error(429, "slow down", "rate_limit_error", {"Retry-After": "7"})}
    status, headers, _, _ = await asked("POST", "/v1/embeddings", busy, {"input": "x", "stream": streamed})
    assert (status, headers["retry-after"]) == (429, "7")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"[1]", id="array"),
        pytest.param(b'{"input": "\xff"}', id="not-utf-8"),
        pytest.param(b'{"a":' * 100_000, id="deep"),
    ],
)
async def test_a_body_that_is_no_object_goes_nowhere(sent):
    status, _, answer, requests = await asked("POST", "/v1/completions", {}, data=sent)
    assert status == 400
    assert json.loads(answer)["error"]["type"] == "invalid_request_error"
    assert requests == []


@pytest.mark.parametrize(
    ("settings", "sent", "expected"),
    [
        pytest.param({"model": "own"}, {"input": "x"}, "own", id="none-named"),
        pytest.param({"model": "own"}, {"input": "x", "model": None}, "own", id="null"),
        pytest.param({"model": "own"}, {"input": "x", "model": "m"}, "m", id="named"),
        pytest.param({"backend": "vllm"}, {"input": "x", "model": "m"}, "served", id="knows-only-its-own"),
    ],
)
async def test_the_model_of_a_request(settings, sent, expected):
    pages = {"/v1/embeddings": COMPLETION, "/v1/models": page({"data": [{"id": "served"}]})}
    _, _, _, requests = await asked("POST", "/v1/embeddings", pages, sent, **settings)
    assert requests[-1].json == {**sent, "model": expected}


ANTHROPIC = {
    "data": [{"type": "model", "id": "claude", "display_name": "C", "created_at": "2025-02-19T00:00:00Z"}],
    "has_more": False,
    "first_id": "claude",
}


@pytest.mark.parametrize(
    "path", ["/v1/models", "/models", "/props", "/health", "/v1/health", "/v1/models/a/b:c"]
)
async def test_what_a_backend_says_of_itself_is_passed_on(path):
    document = {path: page({"x": path}, status=203)}
    status, _, answer, requests = await asked("GET", f"{path}?a=%20b", document)
    assert (status, json.loads(answer)) == (203, {"x": path})
    assert requests[-1].target == f"{path}?a=%20b"
    status, headers, answer, requests = await asked("HEAD", path, document)
    assert (status, answer, requests[-1].method) == (203, b"", "GET")
    assert int(headers["content-length"]) > 0


@pytest.mark.parametrize("path", ["/v1/models/%2e%2e/props", "/v1/models/a%2F..%2F..%2Fslots", "/v1/models/"])
async def test_no_model_leads_to_another_route(path):
    async with (
        ScriptedServer() as server,
        running_proxy(server.url) as proxy,
        aiohttp.ClientSession() as session,
    ):
        seen = len(server.requests)
        async with session.get(URL(f"{proxy.url}{path}", encoded=True)) as response:
            assert response.status == 404
            assert "error" in await response.json()
        assert server.requests[seen:] == []


@pytest.mark.parametrize("path", ["/v1/models", "/models"])
async def test_anthropics_models_are_listed_for_clients_of_both_protocols(path):
    status, _, answer, [request] = await asked(
        "GET", path, {"/v1/models": page(ANTHROPIC)}, backend="anthropic"
    )
    document = json.loads(answer)
    assert (status, request.target) == (200, "/v1/models")
    assert (document["has_more"], document["first_id"]) == (False, "claude")
    [model] = document["data"]
    assert ANTHROPIC["data"][0].items() <= model.items()
    assert document["object"] == "list"
    assert (model["object"], model["created"]) == ("model", 1739923200)


async def test_one_of_anthropics_models():
    pages = {"/v1/models/claude": page(ANTHROPIC["data"][0])}
    _, _, answer, _ = await asked("GET", "/v1/models/claude", pages, backend="anthropic")
    assert json.loads(answer)["object"] == "model"


@pytest.mark.parametrize("path", ["/", "/forge/health"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_liveness_needs_no_key_and_no_backend(method, path):
    status, _, answer, requests = await asked(method, path, {}, api_key="k")
    assert (status, requests) == (200, [])
    assert (answer == b"") == (method == "HEAD")


async def test_everything_else_needs_the_key():
    for method, path in (("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("GET", "/forge/usage")):
        status, _, _, requests = await asked(method, path, {}, api_key="k")
        assert (status, requests) == (401, [])
