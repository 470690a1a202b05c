"""How much context there is, and what it costs. Pure arithmetic; memory in bytes, context in tokens."""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from forge.serving.launch_spec import LaunchSpec

_GIB: Final = 1024**3
_MIB: Final = 1024**2
_OLLAMA_LEAST: Final = 4096
# Total memory of the GPU in GiB from which Ollama is asked for a context of so many tokens.
_OLLAMA_TIERS: Final = ((48.0, 262_144), (24.0, 32_768))


class BudgetMode(str, Enum):  # noqa: UP042 - the public contract; str() of a StrEnum differs
    """Who decides how long the context is.

    ``backend`` and ``forge-full``: what the server takes by itself. ``forge-fast``: half of that. ``manual``: a
    number given. For Ollama, which would take 4096 tokens, the first two are a tier by the memory of the GPU.
    """

    BACKEND = "backend"
    MANUAL = "manual"
    FORGE_FULL = "forge-full"
    FORGE_FAST = "forge-fast"


def require_manual_tokens(mode: BudgetMode, tokens: int | None) -> int | None:
    """The tokens to start with: ``tokens`` in mode ``manual``, else None.

    Raises:
        ValueError: ``manual`` without a positive number, or a number with another mode.
    """
    if mode is not BudgetMode.MANUAL:
        if tokens is not None:
            raise ValueError("manual_tokens are only accepted with budget_mode 'manual'")
        return None
    if tokens is None or isinstance(tokens, bool) or tokens <= 0:
        raise ValueError("manual budget_mode requires positive manual_tokens")
    return tokens


def ollama_context(mode: BudgetMode, vram_gib: float | None) -> int:
    """The context to ask Ollama for, by the GPU's total memory in GiB (None: no GPU); not for ``manual``."""
    whole = next(
        (tokens for least, tokens in _OLLAMA_TIERS if vram_gib is not None and vram_gib >= least),
        _OLLAMA_LEAST,
    )
    return whole // 2 if mode is BudgetMode.FORGE_FAST else whole


def halved_context(spec: LaunchSpec, per_request: int) -> int:
    """Half of the context of the server described by ``spec`` that now gives each request ``per_request`` tokens.

    In the terms of the server's flag: all slots together.
    """
    return max(1, whole_context(spec, per_request) // 2)


def whole_context(spec: LaunchSpec, per_request: int) -> int:
    """Tokens of all slots together."""
    return per_request * (spec.n_slots or 1) if spec.divides_context else per_request


class Cost(Struct, frozen=True, kw_only=True):
    """What a model takes, and of what. ``model`` bytes; ``per_token`` bytes of cache; ``free`` bytes on ``place``.

    ``model`` and ``per_token`` are None where nothing is known, as without a readable GGUF file. ``free`` was
    measured before the server started.
    """

    place: str
    free: int
    model: int | None = None
    per_token: float | None = None

    def need(self, tokens: int) -> float | None:
        """Bytes for the model and a context of ``tokens``."""
        if self.model is None or self.per_token is None:
            return None
        return self.model + self.per_token * tokens

    def most_tokens(self) -> int | None:
        """The longest context for which there is memory; 0 if not even the model fits."""
        if self.model is None or not self.per_token:
            return None
        return max(0, int((self.free - self.model) / self.per_token))


def explained(mode: BudgetMode, spec: LaunchSpec, per_request: int, cost: Cost) -> str:
    """One line: the budget, where it comes from, what it takes and whether that is there."""
    whole = whole_context(spec, per_request)
    slots = f" in each of {spec.n_slots} slots" if spec.divides_context else ""
    parts = [f"budget of {per_request:,} tokens{slots} for {spec.shown_model} (mode {mode.value})"]
    need = cost.need(whole)
    if need is not None:
        parts.append(
            f"model {amount(cost.model or 0)} + {whole:,} tokens of cache at {amount(cost.per_token or 0)} "
            f"= {amount(need)}"
        )
    parts.append(f"{amount(cost.free)} were free on {cost.place}")
    most = cost.most_tokens()
    if need is not None and need > cost.free and most is not None:
        parts.append(f"by this estimate only {most:,} tokens fit")
    return "; ".join(parts)


def amount(size: float) -> str:
    """Bytes for people: ``1.5 GiB``, ``22.5 KiB``."""
    if size >= _GIB:
        return f"{size / _GIB:.1f} GiB"
    return f"{size / _MIB:.1f} MiB" if size >= _MIB else f"{size / 1024:.1f} KiB"
