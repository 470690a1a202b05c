"""Messages, workflows, the runner and the neutral request and events that everything speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.core.runner import WorkflowRunner

__all__ = ["WorkflowRunner"]


def __getattr__(name: str) -> Any:
    # The runner stands on everything else; the plain values in this package must not import it.
    if name == "WorkflowRunner":
        from forge.core.runner import WorkflowRunner

        return WorkflowRunner
    raise AttributeError(f"module 'forge.core' has no attribute {name!r}")
