"""What a workflow has done so far, and what that allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

_MISSING = object()

Prerequisites: TypeAlias = Sequence[str | dict[str, str]]


@dataclass
class PrerequisiteCheck:
    """Whether a call's prerequisites are met; ``missing`` names the tools that are not, in declared order."""

    satisfied: bool
    missing: list[str]


@dataclass
class StepTracker:
    """Records successful executions. ``completed_steps`` is an ordered set, in order of first success."""

    required_steps: Sequence[str]
    completed_steps: dict[str, None] = field(default_factory=dict)
    executed_tools: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def record(self, tool_name: str, args: dict[str, Any] | None = None) -> None:
        """Note that a tool, required or not, was executed with success."""
        self.completed_steps[tool_name] = None
        self.executed_tools.setdefault(tool_name, []).append(args or {})

    def is_satisfied(self) -> bool:
        """Whether every required step is done."""
        return all(step in self.completed_steps for step in self.required_steps)

    def pending(self) -> list[str]:
        """Required steps still open, in the order in which they were declared."""
        return [step for step in self.required_steps if step not in self.completed_steps]

    def check_prerequisites(
        self, tool_name: str, args: Any, prerequisites: Sequence[str | dict[str, str]]
    ) -> PrerequisiteCheck:
        """Whether ``tool_name`` may be called with ``args`` now.

        A string asks for any earlier success of that tool. ``{"tool": X, "match_arg": A}`` asks for one whose
        argument A was the same; a call without A cannot match, however many earlier calls lacked it too.
        """
        del tool_name  # part of the contract's signature
        missing = [_required_tool(entry) for entry in prerequisites if not self._met(entry, args)]
        return PrerequisiteCheck(satisfied=not missing, missing=missing)

    def summary_hint(self) -> str:
        """One line for prompts and compaction: which steps are done."""
        if not self.completed_steps:
            return "[No steps completed yet]"
        return f"[Steps completed: {', '.join(self.completed_steps)}]"

    def _met(self, entry: str | dict[str, str], args: Any) -> bool:
        if isinstance(entry, str):
            return entry in self.executed_tools
        argument = entry.get("match_arg")
        if argument is None:
            return entry["tool"] in self.executed_tools
        wanted = args.get(argument, _MISSING) if isinstance(args, dict) else _MISSING
        if wanted is _MISSING:
            return False
        earlier = self.executed_tools.get(entry["tool"], ())
        return any(call.get(argument, _MISSING) == wanted for call in earlier)


@dataclass(frozen=True)
class Early:
    """Why a call comes too early: an end before required steps, or a call before what it depends on.

    ``missing`` names what must succeed first, in declared order.
    """

    kind: Literal["step", "prerequisite"]
    missing: list[str]


@dataclass(frozen=True)
class StepRules:
    """Which calls must wait for which. The one place where the runner, ``Guardrails`` and the proxy take it from."""

    terminal_tools: frozenset[str] = frozenset()
    prerequisites: Mapping[str, Prerequisites] = field(default_factory=dict)

    def step_block(self, done: StepTracker, tool_name: str) -> Early | None:
        """Why a terminal tool may not be called yet."""
        if tool_name not in self.terminal_tools or done.is_satisfied():
            return None
        return Early("step", done.pending())

    def prerequisite_block(self, done: StepTracker, tool_name: str, args: Any) -> Early | None:
        """Why a tool may not be called with these arguments yet."""
        missing = done.check_prerequisites(tool_name, args, self.prerequisites.get(tool_name, ())).missing
        return Early("prerequisite", missing) if missing else None

    def block(self, done: StepTracker, tool_name: str, args: Any) -> Early | None:
        """Why a call may not run now, None if it may."""
        return self.step_block(done, tool_name) or self.prerequisite_block(done, tool_name, args)


def _required_tool(entry: str | dict[str, str]) -> str:
    return entry if isinstance(entry, str) else entry["tool"]
