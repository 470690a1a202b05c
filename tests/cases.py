"""Many cases in one test: collecting and reporting a test takes longer than most cases of a table do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

Case = Callable[[str], AbstractContextManager[None]]


def each(check: Callable[[Any], object], cases: Mapping[str, Any]) -> None:
    """Check all ``cases``, by name; those that fail are named, each with an error of its own."""
    with _all() as one:
        for name, case in cases.items():
            with one(name):
                check(case)


async def each_awaited(check: Callable[[Any], Awaitable[object]], cases: Mapping[str, Any]) -> None:
    """The same where a check is awaited; one at a time."""
    with _all() as one:
        for name, case in cases.items():
            with one(name):
                await check(case)


@contextmanager
def _all() -> Iterator[Case]:
    errors: dict[str, BaseException] = {}
    count = 0

    @contextmanager
    def one(name: str) -> Iterator[None]:
        nonlocal count
        count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each is shown
            error.add_note(f"in the case {name}")
            errors[name] = error

    yield one
    if errors:
        raise BaseExceptionGroup(
            f"{len(errors)} of {count} cases: {', '.join(errors)}", list(errors.values())
        )
