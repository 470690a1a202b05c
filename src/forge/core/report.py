"""What a run did: every model call, every tool call, what was mended, and what it all cost. Plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge.core.ledger import Fix


@dataclass(frozen=True)
class ModelCall:
    """One model call. ``verdict`` is ``accepted``, ``partial`` or the kind of correction that it got.

    ``step`` counts turns from 1, ``attempt`` the calls within a turn from 1. Tokens are None where the backend did
    not count them. ``fixes`` are the repairs and conversions of the accepted calls' arguments.
    """

    step: int
    attempt: int
    verdict: str
    seconds: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    constrained: bool = False
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class ToolRun:
    """One call of a tool. ``outcome`` is ``ok``, ``failed``, ``unresolved``, ``blocked``, ``rejected`` or ``not_run``."""

    step: int
    tool: str
    call_id: str
    outcome: str
    seconds: float = 0.0
    error: str = ""


@dataclass
class RunReport:
    """Everything that a run did, in order; complete also when the run failed."""

    model_calls: list[ModelCall] = field(default_factory=list)
    tool_runs: list[ToolRun] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def attempts(self) -> int:
        """Model calls made."""
        return len(self.model_calls)

    @property
    def retries(self) -> int:
        """Model calls whose answer was rejected as a whole."""
        return sum(call.verdict not in ("accepted", "partial") for call in self.model_calls)

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of all model calls, as far as the backend counted."""
        return sum(call.prompt_tokens or 0 for call in self.model_calls)

    @property
    def completion_tokens(self) -> int:
        """Generated tokens of all model calls, as far as the backend counted."""
        return sum(call.completion_tokens or 0 for call in self.model_calls)

    @property
    def fixes(self) -> list[Fix]:
        """All repairs and conversions, in order."""
        return [fix for call in self.model_calls for fix in call.fixes]

    def seconds_of_step(self, step: int) -> float:
        """Time spent in one turn, in model and tools together."""
        model = sum(call.seconds for call in self.model_calls if call.step == step)
        return model + sum(run.seconds for run in self.tool_runs if run.step == step)
