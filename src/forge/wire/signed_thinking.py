"""When a request to Anthropic's Messages API may ask for thinking, and what else it may then not ask for.

Where the API would refuse the whole request, thinking that the caller asked for is the caller's business, and
thinking that a client adds by default gives way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

_THOUGHTS = ("thinking", "redacted_thinking")
_LEAST_TOP_P = 0.95


def thinks(thinking: Any) -> bool:
    """Whether the API's ``thinking`` object switches thinking on."""
    return isinstance(thinking, Mapping) and thinking.get("type") not in (None, "disabled")


def default_thinking(thinking: Mapping[str, Any] | None, limit: Any) -> Mapping[str, Any] | None:
    """A client's own ``thinking``; None where its budget does not fit below ``limit``, the tokens of the answer."""
    budget = thinking.get("budget_tokens") if thinking is not None else None
    fits = not isinstance(budget, int) or not isinstance(limit, int) or budget < limit
    return thinking if fits else None


def without_sampling(fields: Mapping[str, Any]) -> dict[str, Any]:
    """``fields`` without those that the API takes only from a model that does not think."""
    top_p = fields.get("top_p")
    unfit = {"top_k"}
    if fields.get("temperature") != 1:
        unfit.add("temperature")
    if isinstance(top_p, int | float) and top_p < _LEAST_TOP_P:
        unfit.add("top_p")
    return {name: value for name, value in fields.items() if name not in unfit}


def lost_its_thoughts(thinking: Any, turns: Sequence[Any]) -> bool:
    """Whether the API would refuse ``thinking`` since the last calls came without the thoughts that led to them.

    That is so with a fixed budget, while results answer those calls. A turn in the caller's own bytes is left to
    the caller.
    """
    if not isinstance(thinking, Mapping) or thinking.get("type") != "enabled" or len(turns) < 2:
        return False
    calls, results = turns[-2:]
    if isinstance(calls, Raw) or isinstance(results, Raw):
        return False
    answered = results["role"] == "user" and _kinds(results)[:1] == ["tool_result"]
    return answered and calls["role"] == "assistant" and _kinds(calls)[0] not in _THOUGHTS


def _kinds(turn: Mapping[str, Any]) -> list[Any]:
    return [block.get("type") if isinstance(block, Mapping) else None for block in turn["content"]]
