"""What a Messages request says about thinking, in the terms of backends of other protocols."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct


class ThinkingMeans(StrEnum):
    """How a backend is told whether, and how much, to think.

    ``LLAMA``: by its chat template and a budget in tokens. ``TEMPLATE``: by its chat template alone (vLLM).
    ``EFFORT``: by ``reasoning_effort``, "none" included (Ollama, whose client turns it into its own field).
    ``ASKED_EFFORT``: the same, only for a request that asks for thinking: models without it refuse the field (OpenAI).
    """

    LLAMA = "llama"
    TEMPLATE = "template"
    EFFORT = "effort"
    ASKED_EFFORT = "asked_effort"


class Wish(Struct, frozen=True):
    """``mode`` is the type of the ``thinking`` object (enabled, disabled, adaptive), None where there was none.

    ``effort`` is ``output_config.effort``.
    """

    mode: str | None = None
    budget: int | None = None
    effort: str | None = None


_EFFORTS: Final[Mapping[str, str]] = {
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""Anthropic's efforts as those that templates and other servers know."""
_LOW_UP_TO = 2048
_MEDIUM_UP_TO = 16384


def wish_of(thinking: Any, output_config: Any) -> Wish:
    """What the two fields of a body say; what has another form says nothing."""
    thinking = thinking if isinstance(thinking, dict) else {}
    mode, budget = thinking.get("type"), thinking.get("budget_tokens")
    effort = output_config.get("effort") if isinstance(output_config, dict) else None
    return Wish(
        mode=mode if isinstance(mode, str) else None,
        budget=budget if isinstance(budget, int) and budget > 0 else None,
        effort=_EFFORTS.get(effort) if isinstance(effort, str) else None,
    )


def thinking_fields(wish: Wish, means: ThinkingMeans) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields that say the same to the backend, and the names of what cannot be said there."""
    if means in (ThinkingMeans.LLAMA, ThinkingMeans.TEMPLATE):
        return _by_template(wish, means)
    wanted = wish.mode == "enabled" or (wish.mode == "adaptive" and wish.effort is not None)
    if means is ThinkingMeans.EFFORT:
        if wish.mode == "disabled":
            return {"reasoning_effort": "none"}, ()
        level = wish.effort or _level(wish.budget)
        return ({"reasoning_effort": level} if wanted or wish.effort else {}), ()
    if wish.mode == "enabled":
        return {"reasoning_effort": wish.effort or _level(wish.budget)}, ()
    return {}, ("output_config.effort",) if wish.effort else ()


def _by_template(wish: Wish, means: ThinkingMeans) -> tuple[dict[str, Any], tuple[str, ...]]:
    variables: dict[str, Any] = {}
    if wish.mode in ("enabled", "disabled"):
        variables["enable_thinking"] = wish.mode == "enabled"
    if wish.effort:
        variables["reasoning_effort"] = wish.effort
    fields: dict[str, Any] = {"chat_template_kwargs": variables} if variables else {}
    if wish.mode != "enabled" or wish.budget is None:
        return fields, ()
    if means is ThinkingMeans.LLAMA:
        return {**fields, "thinking_budget_tokens": wish.budget}, ()
    return fields, ("thinking.budget_tokens",)


def _level(budget: int | None) -> str:
    """An effort for a budget in tokens; without one, the middle."""
    if budget is None:
        return "medium"
    return "low" if budget <= _LOW_UP_TO else "medium" if budget <= _MEDIUM_UP_TO else "high"
