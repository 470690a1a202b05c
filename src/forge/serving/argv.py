"""The command line of each model server. Pure: a launch's description and a program in, words out."""

from __future__ import annotations

from collections.abc import Sequence

from forge.serving.launch_spec import LaunchSpec

_ALL_LAYERS = "999"


def command_line(spec: LaunchSpec, program: str, port: int) -> tuple[str, ...]:
    """The words that start the server described by ``spec``, which was checked, on ``port``."""
    match spec.backend:
        case "vllm":
            return _vllm(spec, program, port)
        case "llamafile":
            return _llama(spec, (program, "--server", "--nobrowser"), port)
        case "llamaserver":
            return _llama(spec, (program,), port)
    raise ValueError(f"backend={spec.backend!r} is not started by Forge")


def _llama(spec: LaunchSpec, program: Sequence[str], port: int) -> tuple[str, ...]:
    rpc = spec.rpc.coordinator_flags() if spec.rpc is not None else ()
    return (
        *program,
        *("-m", str(spec.gguf_path), "-ngl", _ALL_LAYERS, "--port", str(port)),
        *rpc,
        *(("--jinja",) if spec.mode == "native" else ()),
        *spec.extra_flags,
        *_option("-c", spec.context),
        *_option("--cache-type-k", spec.cache_type_k),
        *_option("--cache-type-v", spec.cache_type_v),
        *_option("--parallel", spec.n_slots),
        *(("--kv-unified",) if spec.kv_unified else ()),
    )


def _vllm(spec: LaunchSpec, program: str, port: int) -> tuple[str, ...]:
    return (
        *(program, "serve", str(spec.model_path), "--port", str(port)),
        *spec.extra_flags,
        *_option("--max-model-len", spec.context),
    )


def _option(flag: str, value: object | None) -> tuple[str, ...]:
    return () if value is None else (flag, str(value))
