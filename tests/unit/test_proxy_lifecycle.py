import socket

import pytest

from forge.errors import BackendUnreachableError, EmbeddedModelError, ServerStartError
from forge.proxy.lifecycle import why
from forge.proxy.server import BindError


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        pytest.param(
            BackendUnreachableError("http://u:s3cret@h:1"), ["http://***@h:1", "llama-server"], id="backend"
        ),
        pytest.param(EmbeddedModelError("no model", hint="Run: x"), ["no model", "Run: x"], id="hint"),
        pytest.param(ServerStartError("did not\n  start"), ["did not start"], id="several-lines"),
        pytest.param(BindError("port 1 is taken"), ["port 1 is taken"], id="port"),
    ],
)
def test_one_line_with_the_cause_and_what_helps(error, parts):
    line = why(error, "llamaserver")
    assert "\n" not in line
    assert "s3cret" not in line
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("kind", "starter"),
    [pytest.param("ollama", "ollama serve", id="ollama"), pytest.param("vllm", "vllm serve", id="vllm")],
)
def test_a_dead_backend_is_started_with_its_own_command(kind, starter):
    line = why(BackendUnreachableError("http://h:1"), kind)
    assert starter in line
    assert "llama-server" not in line


def test_the_command_has_the_port_that_was_asked_for():
    assert "--port 9999" in why(BackendUnreachableError("http://h:9999", ConnectionRefusedError()), "vllm")


def test_where_there_is_no_such_host_nothing_is_to_be_started():
    line = why(BackendUnreachableError("http://localhots:1", socket.gaierror("not known")), "llamaserver")
    assert "--backend-url" in line
    assert "Start it" not in line


def test_where_something_answers_in_another_protocol_nothing_is_to_be_started():
    assert "Start it" not in why(
        BackendUnreachableError("https://h:1", OSError("is it http?")), "llamaserver"
    )


def test_a_hosted_backend_is_not_ours_to_start():
    assert "Start it" not in why(BackendUnreachableError("https://h"), "anthropic")
