"""Adding up what several backend calls of one turn cost."""

from __future__ import annotations

from typing import Any

from forge.core.events import Usage

_TOTAL = "total_tokens"


def add_usage(total: Usage | None, more: Usage | None) -> Usage | None:
    """The sum of two usages. Of fields without a neutral name counts add up; the later one of anything else stays."""
    if total is None or more is None:
        return total or more
    extra = _added(total.extra, more.extra)
    if _TOTAL in extra:
        # Only there where a backend counts more than prompt and completion; the other call then has its plain sum.
        extra[_TOTAL] = _all_tokens(total) + _all_tokens(more)
    return Usage(
        prompt_tokens=total.prompt_tokens + more.prompt_tokens,
        completion_tokens=total.completion_tokens + more.completion_tokens,
        cached_tokens=total.cached_tokens + more.cached_tokens,
        cache_creation_tokens=total.cache_creation_tokens + more.cache_creation_tokens,
        extra=extra,
    )


def _all_tokens(usage: Usage) -> int:
    counted: int = usage.extra.get(_TOTAL, usage.prompt_tokens + usage.completion_tokens)
    return counted


def _added(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {**first, **{name: _sum(first.get(name), value) for name, value in second.items()}}


def _sum(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return _added(first, second)
    if _is_count(first) and _is_count(second):
        return first + second
    return first if second is None else second


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
