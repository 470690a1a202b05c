"""The proxy as an ASGI application: below a prefix, with its lifespan and without."""

import asyncio
import json

import pytest
import uvicorn
from servers.scripted import ScriptedServer, error, stream_text, whole_text
from starlette.applications import Starlette
from starlette.routing import Mount

from forge.proxy import create_app
from forge.proxy.mounted import ProxyApp

pytestmark = pytest.mark.anyio


async def asked(app, path, body=None, *, method="POST", headers=(), root_path=""):
    """Status and body of an ASGI application's answer to one request."""
    sent = json.dumps(body).encode() if body is not None else b""
    messages = [{"type": "http.request", "body": sent, "more_body": False}]
    answer = []
    over = asyncio.Event()

    async def receive():
        if messages:
            return messages.pop()
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        answer.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": root_path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "http_version": "1.1",
    }
    await app(scope, receive, send)
    over.set()
    text = b"".join(message.get("body", b"") for message in answer[1:])
    return answer[0]["status"], text


CHAT = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        pytest.param("/llm/v1/chat/completions", "POST", 200, id="door"),
        pytest.param("/llm/forge/health", "GET", 200, id="health"),
        pytest.param("/llm/v1/models", "GET", 200, id="metadata"),
        pytest.param("/llm/none", "GET", 404, id="no-route"),
        pytest.param("/llm/", "GET", 200, id="root"),
        pytest.param("/v1/models", "GET", 404, id="outside"),
    ],
)
async def test_below_a_prefix(path, method, status):
    async with ScriptedServer([whole_text("hi")]) as server:
        proxy = create_app(backend_url=server.url)
        app = Starlette(routes=[Mount("/llm", app=proxy)], lifespan=proxy.lifespan)
        async with proxy.lifespan():
            found, answer = await asked(app, path, CHAT if method == "POST" else None, method=method)
    assert found == status
    if path == "/llm/v1/chat/completions":
        assert json.loads(answer)["choices"][0]["message"]["content"] == "hi"


async def test_an_error_below_a_prefix_has_its_doors_shape():
    async with ScriptedServer([error(400, "no", "invalid_request_error")]) as server:
        proxy = create_app(backend_url=server.url)
        app = Starlette(routes=[Mount("/llm", app=proxy)])
        async with proxy.lifespan():
            status, answer = await asked(app, "/llm/v1/messages", {"model": "m"})
    assert status == 400
    assert json.loads(answer)["type"] == "error"


async def test_a_key_is_asked_for_below_a_prefix():
    app = Starlette(routes=[Mount("/llm", app=create_app(backend_url="http://127.0.0.1:9", api_key="k"))])
    assert (await asked(app, "/llm/v1/models", method="GET"))[0] == 401
    assert (await asked(app, "/llm/forge/health", method="GET"))[0] == 200


async def test_a_stream_and_no_lifespan():
    async with ScriptedServer([stream_text(["a", "b"])]) as server:
        proxy = create_app(backend_url=server.url)
        status, answer = await asked(proxy, "/v1/chat/completions", {**CHAT, "stream": True})
        assert (status, answer.endswith(b"data: [DONE]\n\n")) == (200, True)
        async with proxy.lifespan():
            pass  # closes what the request opened


async def test_a_server_runs_its_lifespan_and_may_do_so_again():
    async with ScriptedServer([whole_text("hi")] * 2) as server:
        proxy = create_app(backend_url=server.url)
        for _ in range(2):
            running = uvicorn.Config(proxy, lifespan="on", log_config=None)
            running.load()
            life = running.lifespan_class(running)
            await life.startup()
            assert not life.should_exit
            assert proxy._app is not None
            assert (await asked(proxy, "/v1/chat/completions", CHAT))[0] == 200
            await life.shutdown()
            assert proxy._app is None


@pytest.mark.parametrize(
    ("options", "error_type", "named"),
    [
        pytest.param({"backend_url": "http://h", "host": "0.0.0.0"}, ValueError, "api_key", id="open"),
        pytest.param({"backend_url": "http://h", "port": 1}, TypeError, "port", id="no-such-option"),
        pytest.param({}, ValueError, "backend_url", id="nothing"),
    ],
)
def test_options_are_checked_at_once(options, error_type, named):
    with pytest.raises(error_type, match=named):
        create_app(**options)


def test_options_mean_what_they_mean_to_the_server():
    app = create_app(backend_url="http://h", max_retries=1, rescue_enabled=False, backend_api_key=" ")
    assert isinstance(app, ProxyApp)
    assert (app._settings.max_retries, app._settings.rescue, app._settings.backend_api_key) == (
        1,
        False,
        None,
    )
