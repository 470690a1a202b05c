"""Adding up what several backend calls of one turn cost."""

from __future__ import annotations

from forge.core.events import Usage


def add_usage(total: Usage | None, more: Usage | None) -> Usage | None:
    """The sum of two usages; fields without a neutral name are those of the later one."""
    if total is None or more is None:
        return total or more
    return Usage(
        prompt_tokens=total.prompt_tokens + more.prompt_tokens,
        completion_tokens=total.completion_tokens + more.completion_tokens,
        cached_tokens=total.cached_tokens + more.cached_tokens,
        cache_creation_tokens=total.cache_creation_tokens + more.cache_creation_tokens,
        extra=more.extra,
    )
