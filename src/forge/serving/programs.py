"""Where the programs of model servers are."""

from __future__ import annotations

import shutil
from pathlib import Path

from forge.errors import ServerStartError
from forge.serving.launch_spec import LaunchSpec

_HINTS = {
    "llama-server": "Install llama.cpp (https://github.com/ggml-org/llama.cpp) so that llama-server is on PATH.",
    "vllm": "Install vLLM (https://docs.vllm.ai) so that the vllm command is on PATH.",
}


def program_of(spec: LaunchSpec) -> str:
    """The path of the program that serves ``spec``.

    Raises:
        ServerStartError: it is not installed.
        FileNotFoundError: there is no llamafile beside the model.
    """
    if spec.backend == "llamafile":
        assert spec.gguf_path is not None
        return str(_llamafile_beside(spec.gguf_path))
    if spec.rpc is not None:
        return _on_path(str(spec.rpc.coordinator_executable))
    return _on_path("vllm" if spec.backend == "vllm" else "llama-server")


def _on_path(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ServerStartError(
            f"the program {name} was not found", hint=_HINTS.get(name, "Is the path right?")
        )
    return found


def _llamafile_beside(gguf: Path) -> Path:
    """The newest by name: ``llamafile-0.9.3`` comes after ``llamafile-0.9.2``."""
    folder = gguf.parent
    found = sorted(path for path in folder.glob("llamafile-*") if path.is_file())
    if not found:
        raise FileNotFoundError(f"No llamafile runtime (a file llamafile-*) in {folder}")
    return found[-1]
