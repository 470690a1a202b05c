"""Forge: a reliability layer for self-hosted LLM tool calling.

Names are imported on first use, so that ``import forge`` costs next to nothing and needs no dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.core.calls import LLMResponse as LLMResponse
    from forge.core.calls import TextResponse as TextResponse
    from forge.core.calls import ToolCall as ToolCall
    from forge.errors import BudgetResolutionError as BudgetResolutionError
    from forge.errors import ContextBudgetExceeded as ContextBudgetExceeded
    from forge.errors import ContextDiscoveryError as ContextDiscoveryError
    from forge.errors import ForgeError as ForgeError
    from forge.errors import HardwareDetectionError as HardwareDetectionError
    from forge.errors import MaxIterationsError as MaxIterationsError
    from forge.errors import PrerequisiteError as PrerequisiteError
    from forge.errors import StepEnforcementError as StepEnforcementError
    from forge.errors import StreamError as StreamError
    from forge.errors import ThinkingNotSupportedError as ThinkingNotSupportedError
    from forge.errors import ToolCallError as ToolCallError
    from forge.errors import ToolExecutionError as ToolExecutionError
    from forge.errors import ToolResolutionError as ToolResolutionError
    from forge.errors import WorkflowCancelledError as WorkflowCancelledError

    __version__: str

# Where each public name lives; kept beside the imports above, which are the same table for type checkers.
_MODULE_OF: dict[str, str] = {
    name: module
    for module, names in {
        "forge.core.calls": "LLMResponse TextResponse ToolCall",
        "forge.errors": (
            "BudgetResolutionError ContextBudgetExceeded ContextDiscoveryError ForgeError HardwareDetectionError "
            "MaxIterationsError PrerequisiteError StepEnforcementError StreamError ThinkingNotSupportedError "
            "ToolCallError ToolExecutionError ToolResolutionError WorkflowCancelledError"
        ),
    }.items()
    for name in names.split()
}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # noqa: PLE0604 - computed from the table


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _installed_version()
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'forge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    # importlib.metadata is slow to import, and few callers ask.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("forge-guardrails")
    except PackageNotFoundError:
        return "0.0.0+unknown"
