"""The guarded turn: a pure state machine that judges a model's answer, corrects it and releases what is good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forge.engine.policy import TEXT_POLICIES, Policy, TextPolicy

if TYPE_CHECKING:
    from forge.engine.turn import Turn

__all__ = ["TEXT_POLICIES", "Policy", "TextPolicy", "Turn"]


def __getattr__(name: str) -> Any:
    # The guardrails share the engine's rules; they need not load its state machine.
    if name == "Turn":
        from forge.engine.turn import Turn

        return Turn
    raise AttributeError(f"module 'forge.engine' has no attribute {name!r}")
