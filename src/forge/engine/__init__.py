"""The guarded turn: a pure state machine that judges a model's answer, corrects it and releases what is good."""

from forge.engine.policy import TEXT_POLICIES, Policy, TextPolicy
from forge.engine.turn import Turn

__all__ = ["TEXT_POLICIES", "Policy", "TextPolicy", "Turn"]
