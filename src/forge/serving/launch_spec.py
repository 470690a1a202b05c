"""What a managed model server is told at start, and which combinations make no sense."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from forge.serving.rpc_config import LlamaCppRpcConfig

BACKENDS: Final = ("llamaserver", "llamafile", "vllm", "ollama")
LLAMA_BACKENDS: Final = frozenset({"llamaserver", "llamafile"})
MODES: Final = ("native", "prompt")

# Set by Forge itself, which would wait at the wrong port or for the wrong model.
_OWN_FLAGS: Final = {
    "llamaserver": ("--port", "-m", "--model"),
    "llamafile": ("--port", "-m", "--model"),
    "vllm": ("--port", "--model"),
}
_TOPOLOGY_FLAGS: Final = (
    "--rpc", "--device", "-dev", "--split-mode", "-sm", "--tensor-split", "-ts",
)  # fmt: skip


class LaunchSpec(Struct, frozen=True, kw_only=True):
    """One server to start.

    ``context`` in tokens; None leaves it to the server. ``cache_type_k`` and ``_v``: llama.cpp's names of number
    formats. ``n_slots``: requests served at once, which share ``context`` (evenly, or freely with ``kv_unified``).
    """

    backend: str
    gguf_path: Path | None = None
    model_path: str | None = None
    mode: str = "native"
    extra_flags: tuple[str, ...] = ()
    context: int | None = None
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    n_slots: int | None = None
    kv_unified: bool = False
    rpc: LlamaCppRpcConfig | None = None

    @property
    def divides_context(self) -> bool:
        """Whether each slot has its own fixed share of the context."""
        return (self.n_slots or 1) > 1 and not self.kv_unified

    @property
    def shown_model(self) -> str:
        """The model's name for people."""
        return self.gguf_path.name if self.gguf_path is not None else self.model_path or "no model"

    def check(self) -> None:
        """Reject what the backend cannot be started with. Pure.

        Raises:
            ValueError: one sentence that names the argument at fault.
        """
        if self.backend not in BACKENDS:
            raise ValueError(f"unsupported backend: {self.backend!r} (choose from {', '.join(BACKENDS)})")
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        for name in ("n_slots", "context"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value < 1):
                raise ValueError(f"{name} must be a positive number, not {value!r}")
        if self.rpc is not None and self.backend != "llamaserver":
            raise ValueError("rpc is supported only by backend='llamaserver'")
        self._check_model()
        self._check_options()
        self._check_flags()

    def _check_model(self) -> None:
        if self.backend in LLAMA_BACKENDS:
            if self.model_path is not None:
                raise ValueError(f"backend={self.backend!r} does not accept model_path; use gguf_path")
            if self.gguf_path is None:
                raise ValueError(f"backend={self.backend!r} requires gguf_path")
            return
        if self.gguf_path is not None:
            raise ValueError(f"backend={self.backend!r} does not accept gguf_path")
        if self.backend == "vllm" and not self.model_path:
            raise ValueError("backend='vllm' requires model_path")
        if self.backend == "ollama" and self.model_path is not None:
            raise ValueError("backend='ollama' does not accept model_path; use model")

    def _check_options(self) -> None:
        if self.backend in LLAMA_BACKENDS:
            return
        refused = {
            "extra_flags": self.extra_flags if self.backend == "ollama" else None,
            "cache_type_k": self.cache_type_k,
            "cache_type_v": self.cache_type_v,
            "n_slots": self.n_slots,
            "kv_unified": self.kv_unified,
        }
        for name, value in refused.items():
            if value:
                raise ValueError(f"backend={self.backend!r} does not support {name}")

    def _check_flags(self) -> None:
        own = given_flags(self.extra_flags, _OWN_FLAGS.get(self.backend, ()))
        if own:
            raise ValueError(f"extra_flags: {', '.join(own)} conflicts with a Forge-owned option")
        topology = given_flags(self.extra_flags, _TOPOLOGY_FLAGS) if self.rpc is not None else []
        if topology:
            raise ValueError(f"RPC topology owns {', '.join(topology)}; leave it out of extra_flags")


def given_flags(flags: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Those of ``wanted`` that ``flags`` holds, alone or as ``flag=value``."""
    present = {flag.partition("=")[0] for flag in flags}
    return [flag for flag in wanted if flag in present]
