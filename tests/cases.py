"""Many cases in one test: collecting and reporting a test takes longer than most cases of a table do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest


def each(check: Callable[..., object], cases: Mapping[str, Any]) -> None:
    """Check all ``cases``, by name; those that fail are named, each with an error of its own."""
    errors: list[BaseException] = []
    failed = []
    for name, case in cases.items():
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each is shown
            error.add_note(f"in the case {name}")
            errors.append(error)
            failed.append(name)
    if errors:
        raise BaseExceptionGroup(f"{len(errors)} of {len(cases)} cases: {', '.join(failed)}", errors)
