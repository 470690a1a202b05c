"""The rules for a model's answers, whole (``Guardrails``) or in parts, for loops of your own. No I/O."""

from forge.guardrails.error_tracker import ErrorTracker
from forge.guardrails.guardrails import CheckResult, Guardrails
from forge.guardrails.nudge import Nudge
from forge.guardrails.response_validator import ResponseValidator, ValidationResult
from forge.guardrails.step_enforcer import StepCheck, StepEnforcer

__all__ = [
    "CheckResult",
    "ErrorTracker",
    "Guardrails",
    "Nudge",
    "ResponseValidator",
    "StepCheck",
    "StepEnforcer",
    "ValidationResult",
]
