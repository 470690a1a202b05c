"""What a managed server may be told, and the command line that comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.serving.argv import command_line
from forge.serving.launch_spec import LaunchSpec
from forge.serving.rpc_config import LlamaCppRpcConfig, LlamaCppRpcWorkerConfig

GGUF = Path("/models/m.gguf")
RPC = LlamaCppRpcConfig(
    LlamaCppRpcWorkerConfig("user@far", "10.0.0.2", "/opt/rpc-server", "CUDA0"),
    coordinator_executable="/opt/llama-server",
    devices=("RPC0", "CUDA0"),
    tensor_split=(1, 1 / 3),
)
BASE = ("-m", "/models/m.gguf", "-ngl", "999", "--port", "8080")


def llama(**fields):
    return LaunchSpec(backend="llamaserver", gguf_path=GGUF, **fields)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(llama(), (*BASE, "--jinja"), id="llama-server"),
        pytest.param(llama(mode="prompt"), BASE, id="tools in the prompt"),
        pytest.param(
            llama(
                extra_flags=("-t", "4"), context=8192, cache_type_k="q8_0", cache_type_v="q4_0", n_slots=2,
                kv_unified=True,
            ),
            (*BASE, "--jinja", "-t", "4", "-c", "8192", "--cache-type-k", "q8_0", "--cache-type-v", "q4_0")
            + ("--parallel", "2", "--kv-unified"),
            id="every option, in order",
        ),
        pytest.param(
            llama(rpc=RPC),
            (*BASE, "--rpc", "10.0.0.2:50052", "--device", "RPC0,CUDA0", "--split-mode", "layer")
            + ("--tensor-split", "1,0.333333333333333", "--jinja"),
            id="two machines",
        ),
        pytest.param(
            LaunchSpec(backend="llamafile", gguf_path=GGUF, context=512),
            ("--server", "--nobrowser", *BASE, "--jinja", "-c", "512"),
            id="llamafile",
        ),
        pytest.param(
            LaunchSpec(backend="vllm", model_path="org/model", extra_flags=("--dtype", "half"), context=4096),
            ("serve", "org/model", "--port", "8080", "--dtype", "half", "--max-model-len", "4096"),
            id="vLLM",
        ),
    ],
)  # fmt: skip
def test_command_lines(spec, words):
    spec.check()

    assert command_line(spec, "/bin/server", 8080) == ("/bin/server", *words)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"backend": "openai"}, "unsupported backend", id="unknown"),
        pytest.param({"backend": "llamaserver"}, "requires gguf_path", id="llama without a model"),
        pytest.param(
            {"backend": "llamafile", "gguf_path": GGUF, "model_path": "m"}, "does not accept model_path", id="two models"
        ),
        pytest.param({"backend": "vllm"}, "requires model_path", id="vLLM without a model"),
        pytest.param({"backend": "vllm", "gguf_path": GGUF}, "does not accept gguf_path", id="vLLM with a gguf"),
        pytest.param({"backend": "vllm", "model_path": "m", "n_slots": 2}, "n_slots", id="vLLM slots"),
        pytest.param({"backend": "vllm", "model_path": "m", "cache_type_k": "f16"}, "cache_type_k", id="vLLM cache"),
        pytest.param({"backend": "ollama", "extra_flags": ("-x",)}, "'ollama' does not support extra_flags", id="o flags"),
        pytest.param({"backend": "ollama", "cache_type_v": "f16"}, "cache_type_v", id="ollama cache"),
        pytest.param({"backend": "ollama", "kv_unified": True}, "kv_unified", id="ollama unified"),
        pytest.param({"backend": "ollama", "gguf_path": GGUF}, "does not accept gguf_path", id="ollama gguf"),
        pytest.param({"backend": "ollama", "rpc": RPC}, "supported only by backend='llamaserver'", id="rpc elsewhere"),
        pytest.param({"backend": "llamaserver", "gguf_path": GGUF, "n_slots": 0}, "n_slots", id="no slots"),
        pytest.param({"backend": "llamaserver", "gguf_path": GGUF, "context": -1}, "context", id="negative"),
        pytest.param({"backend": "llamaserver", "gguf_path": GGUF, "mode": "x"}, "mode", id="mode"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(fields, words):
    with pytest.raises(ValueError, match=words):
        LaunchSpec(**fields).check()


@pytest.mark.parametrize("flags", [("--port", "1"), ("--port=1",), ("-m", "x"), ("--model=x",)])
def test_flags_that_are_forges_own(flags):
    with pytest.raises(ValueError, match="conflicts with a Forge-owned option"):
        llama(extra_flags=flags).check()


@pytest.mark.parametrize(
    "flag",
    ["--rpc", "--device", "-dev", "--split-mode", "-sm", "--tensor-split", "-ts", "--rpc=x", "-ts=1,1"],
)
def test_flags_that_belong_to_the_topology(flag):
    with pytest.raises(ValueError, match="RPC topology owns"):
        llama(extra_flags=(flag, "x"), rpc=RPC).check()
    llama(extra_flags=(flag, "x")).check()
