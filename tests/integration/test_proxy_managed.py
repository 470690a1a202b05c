"""The proxy with a llama-server of its own: used, killed under it, and gone with it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from servers.commands import LLAMA_SERVER, put_on_path

from forge.embedded import launch as embedded_launch
from forge.embedded import store
from forge.embedded.models import DEFAULT_MODEL, MODELS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

TEMPLATE = Path(embedded_launch.__file__).with_name("chatml_tools.jinja")
HELLO = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 16}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
WEATHER = {
    "messages": [{"role": "user", "content": "Weather in Oslo?"}],
    "tools": [TOOL],
    "tool_choice": "required",
    "max_tokens": 48,
}


@contextmanager
def proxy(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    put_on_path(tmp_path / "bin", "llama-server", LLAMA_SERVER)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "FORGE_CACHE_DIR": str(tmp_path / "cache"),
    }
    gguf = store.model_path(MODELS[DEFAULT_MODEL])
    command = [
        *(
            sys.executable,
            "-m",
            "forge.proxy",
            "--port",
            "0",
            "--backend",
            "llamaserver",
            "--gguf",
            str(gguf),
        ),
        *("--backend-port", "0", "--extra-flags", "--chat-template-file", str(TEMPLATE)),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            yield process, found[0]
        finally:
            process.kill()


def ask(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=100) as answer:
        return json.load(answer)["choices"][0]


@contextmanager
def streaming(url: str) -> Iterator[http.client.HTTPResponse]:
    """A stream that has begun."""
    body = json.dumps({**HELLO, "max_tokens": 60, "stream": True})
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=100)
    try:
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.readline().startswith(b"data: ")
        yield response
    finally:
        connection.close()


def llama_server(process: subprocess.Popen[str]) -> psutil.Process:
    (guard,) = psutil.Process(process.pid).children()
    (server,) = guard.children()
    return server


@pytest.mark.parametrize(
    "body", [pytest.param(HELLO, id="passed through"), pytest.param(WEATHER, id="guarded")]
)
def test_a_server_killed_under_the_proxy_is_started_anew(
    embedded_installed: None, tmp_path: Path, body: dict[str, Any]
) -> None:
    with proxy(tmp_path) as (process, url):
        assert ask(url, body)["message"]
        first = llama_server(process)
        first.kill()
        assert ask(url, body)["message"]
        second = llama_server(process)
        process.terminate()

        assert process.wait(30) == 0
    assert first.pid != second.pid
    assert psutil.wait_procs([first, second], timeout=30)[1] == []


def test_sigterm_lets_a_running_answer_end_and_then_ends_the_server(
    embedded_installed: None, tmp_path: Path
) -> None:
    with proxy(tmp_path) as (process, url), streaming(url) as response:
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        rest = response.read()

        assert process.wait(30) == 0
    assert rest.rstrip().endswith(b"data: [DONE]")
    assert psutil.wait_procs(family, timeout=30)[1] == []


def test_a_killed_proxy_leaves_no_server(embedded_installed: None, tmp_path: Path) -> None:
    with proxy(tmp_path) as (process, _):
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert len(family) == 2
    assert psutil.wait_procs(family, timeout=30)[1] == []
