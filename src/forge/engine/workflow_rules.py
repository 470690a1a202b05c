"""Rules for the order of a conversation's calls, for a set of tools. Plain values; :mod:`forge.engine.course` keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

Prerequisite = str | dict[str, str]


class WorkflowRules(Struct, frozen=True, kw_only=True):
    """What must happen before what.

    ``required_steps`` are tools that must have succeeded before a terminal tool may be called, or an answer be given in
    words. ``prerequisites``: for a tool's name, what must have succeeded before it: another tool's name, or
    ``{"tool": X, "match_arg": A}`` for a success of X with the same value of the argument A.

    ``tools`` are the names by which a conversation is recognised: the rules hold where all of them are offered. None
    given, these are the tools that the rules name.
    """

    name: str = ""
    tools: tuple[str, ...] = ()
    required_steps: tuple[str, ...] = ()
    terminal_tools: tuple[str, ...] = ()
    prerequisites: Mapping[str, tuple[Prerequisite, ...]] = {}

    @property
    def named(self) -> frozenset[str]:
        """Every tool that the rules name."""
        names = {*self.required_steps, *self.terminal_tools, *self.prerequisites}
        for entries in self.prerequisites.values():
            names.update(entry if isinstance(entry, str) else entry["tool"] for entry in entries)
        return frozenset(names)

    def hold_for(self, offered: Collection[str]) -> bool:
        """Whether the rules hold where these tools are offered."""
        return all(name in offered for name in self.tools or self.named)


def rules_for(workflows: Sequence[WorkflowRules], offered: Collection[str]) -> WorkflowRules | None:
    """The first of ``workflows`` that holds where these tools are offered."""
    return next((rules for rules in workflows if rules.hold_for(offered)), None)
