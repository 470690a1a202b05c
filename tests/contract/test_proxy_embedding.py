"""The proxy inside another program: ``ProxyServer`` on its own thread, the app in somebody else's server."""

import json
import urllib.error
import urllib.request

import anyio.to_thread
import pytest
from servers.scripted import ScriptedServer, whole_text
from starlette.testclient import TestClient

from forge.proxy import ProxyServer
from forge.proxy.app import create_app
from forge.proxy.backends import make_backend
from forge.proxy.courier import Courier
from forge.proxy.service import Service
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


async def test_start_serve_stop():
    async with ScriptedServer([whole_text("Hello")]) as backend:

        def live():
            proxy = ProxyServer(backend_url=backend.url, port=0)
            proxy.stop()  # nothing to stop yet
            proxy.start()
            url = proxy.url
            proxy.start()
            assert proxy.url == url
            answer = post(f"{url}/v1/chat/completions", {"messages": []})
            proxy.stop()
            proxy.stop()
            with pytest.raises(OSError):
                get(f"{url}/forge/health")
            proxy.start()  # again, on another port
            assert get(f"{proxy.url}/forge/health")[0] == 200
            proxy.stop()
            return answer

        answer = await anyio.to_thread.run_sync(live)
    assert answer["choices"][0]["message"]["content"] == "Hello"


async def test_a_taken_port_is_told_at_once_with_its_cause():
    async with ScriptedServer() as backend, ScriptedServer() as other:

        def start():
            with pytest.raises(RuntimeError) as caught:
                ProxyServer(backend_url=backend.url, port=other.port).start()
            return caught.value

        error = await anyio.to_thread.run_sync(start)
    assert isinstance(error.__cause__, OSError)
    assert str(other.port) in str(error)


def test_a_backend_may_come_later():
    with ProxyServer(backend_url="http://127.0.0.1:1", port=0) as proxy:
        assert get(f"{proxy.url}/forge/health") == (200, b'{"status":"ok"}')
        assert get(f"{proxy.url}/v1/models")[0] == 502


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"backend_url": "http://h", "max_retries": -1}, id="range"),
        pytest.param({"backend": "llamaserver"}, id="no-url"),
        pytest.param({"backend_url": "http://h", "backend": "nope"}, id="unknown-backend"),
        pytest.param({"backend_url": "http://h", "backend_timeout": float("inf")}, id="timeout"),
    ],
)
def test_bad_arguments_are_value_errors(arguments):
    with pytest.raises(ValueError):
        ProxyServer(**arguments)


def test_the_environment_is_not_read(monkeypatch):
    monkeypatch.setenv("FORGE_BACKEND_API_KEY", "k")
    ProxyServer(backend_url="http://h")  # a key would have demanded a callers' key


def test_the_app_can_be_mounted_elsewhere():
    settings = Settings(backend_url="http://127.0.0.1:1")
    url = str(settings.backend_url)
    service = Service(settings, make_backend(settings, url), Courier(url, settings))
    with TestClient(create_app(service, owns_service=True), base_url="http://localhost") as client:
        assert client.get("/forge/health").json() == {"status": "ok"}
        answer = client.post("/v1/chat/completions", content=b"{")
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
