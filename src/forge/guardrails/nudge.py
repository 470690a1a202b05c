"""Corrections as values: what to tell the model, and on which channel."""

from __future__ import annotations

from dataclasses import dataclass

from forge.core.calls import ToolCall
from forge.core.ledger import Problem
from forge.prompts.nudges import not_run_text

TOOL_ERROR_KINDS: frozenset[str] = frozenset({"tool_arg_validation"})
"""Kinds that drain the tool-error budget; all others drain the retry budget."""

TOOL_CHANNEL_KINDS: frozenset[str] = TOOL_ERROR_KINDS | {"unknown_tool"}
"""Kinds that are delivered as results of the rejected calls; all others as a user message."""


@dataclass(frozen=True)
class CallCorrection:
    """What to answer to one call of a batch that was not run as a whole.

    ``content`` is ready to be sent as that call's tool result. ``offending`` is False for a call that is right and
    only was held back; it may be run. ``tool_call_id`` is the call's own id, where it has one.
    """

    tool: str
    content: str
    kind: str
    tool_call_id: str | None = None
    offending: bool = True
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Nudge:
    """One correction of a model's answer.

    ``role`` and ``content`` are enough to append it as one message. ``corrections`` says the same call by call, for
    loops that answer each call with a tool result of its own, which models follow better.
    """

    role: str
    content: str
    kind: str
    tier: int = 0
    corrections: tuple[CallCorrection, ...] = ()


def held_back(call: ToolCall, offender: str) -> CallCorrection:
    """What a good call gets back that was not run because of ``offender`` in the same answer."""
    return CallCorrection(call.tool, not_run_text(offender), "not_run", call.id, offending=False)
