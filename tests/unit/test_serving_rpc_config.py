"""The settings for one model on two machines."""

from __future__ import annotations

import shlex
from dataclasses import FrozenInstanceError, replace

import pytest

from forge.rpc import LlamaCppRpcConfig, LlamaCppRpcWorkerConfig

WORKER = LlamaCppRpcWorkerConfig("user@far", "10.0.0.2", "/opt/rpc server", "CUDA0")
CONFIG = LlamaCppRpcConfig(WORKER, "/opt/llama-server", ("RPC0", "CUDA0"), (1.0, 2.0))


def test_the_worker_is_started_over_ssh_with_every_word_quoted():
    worker = replace(WORKER, environment=(("A", "b c"), ("D", "$E")))

    *ssh, remote = worker.command_line()

    assert ssh == ["ssh", "-tt", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "user@far"]
    assert remote.startswith("exec env ")
    assert shlex.split(remote) == [
        "exec", "env", "A=b c", "D=$E", "/opt/rpc server", "-H", "10.0.0.2", "-p", "50052", "-d", "CUDA0", "-c",
    ]  # fmt: skip


def test_without_a_tensor_cache():
    assert not replace(WORKER, tensor_cache=False).command_line()[-1].endswith(" -c")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        pytest.param("ssh_target", " ", "ssh_target", id="blank"),
        pytest.param("ssh_target", "-oProxyCommand=x", "ssh_target", id="an option"),
        pytest.param("executable", "", "executable", id="empty"),
        pytest.param("device", "a\0b", "device", id="null character"),
        pytest.param("rpc_host", "0.0.0.0", "direct-link", id="wildcard"),
        pytest.param("rpc_host", "[::]", "direct-link", id="wildcard of IPv6"),
        pytest.param("rpc_port", 0, "rpc_port", id="port zero"),
        pytest.param("rpc_port", 65536, "rpc_port", id="port too high"),
        pytest.param("environment", (("1A", "x"),), "environment", id="bad name"),
        pytest.param("environment", (("A", "x"), ("A", "y")), "unique", id="name twice"),
    ],
)
def test_workers_that_cannot_be(field, value, words):
    with pytest.raises(ValueError, match=words):
        replace(WORKER, **{field: value})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"coordinator_executable": ""}, "coordinator_executable", id="no executable"),
        pytest.param({"devices": (), "tensor_split": ()}, "devices", id="no device"),
        pytest.param({"tensor_split": (1.0,)}, "one value per device", id="too few"),
        pytest.param({"tensor_split": (1.0, -1.0)}, "tensor_split", id="negative"),
        pytest.param({"tensor_split": (1.0, float("inf"))}, "finite", id="infinite"),
        pytest.param({"tensor_split": (0.0, 0.0)}, "above zero", id="nothing"),
        pytest.param({"split_mode": "column"}, "split_mode", id="split mode"),
        pytest.param({"startup_timeout": 0.0}, "startup_timeout", id="no time"),
        pytest.param({"startup_timeout": float("nan")}, "startup_timeout", id="not a number"),
        pytest.param(
            {"coordinator_environment": (("a-b", ""),)}, "coordinator_environment", id="environment"
        ),
    ],
)
def test_topologies_that_cannot_be(changes, words):
    with pytest.raises(ValueError, match=words):
        replace(CONFIG, **changes)


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        CONFIG.split_mode = "row"


def test_an_address_of_ipv6_is_bracketed():
    flags = replace(CONFIG, worker=replace(WORKER, rpc_host="fd00::2")).coordinator_flags()

    assert flags[:2] == ("--rpc", "[fd00::2]:50052")
