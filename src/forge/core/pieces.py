"""Fields that come in pieces with a streamed text, put together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, takewhile
from typing import Any


def joined(pieces: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The fields of all ``pieces`` as one object: strings and lists are put together, objects by their fields, and of
    anything else the last one counts. A null says nothing where there is another value. No piece is changed.
    """
    values: dict[str, list[Any]] = {}
    for piece in pieces:
        for name, value in piece.items():
            values.setdefault(name, []).append(value)
    return {name: _together(found) for name, found in values.items()}


def _together(values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    values = [value for value in values if value is not None] or [None]
    last = values[-1]
    # A value of another type starts anew.
    alike = list(takewhile(lambda value: type(value) is type(last), reversed(values)))[::-1]
    if isinstance(last, str):
        return "".join(alike)
    if isinstance(last, list):
        return list(chain.from_iterable(alike))
    return joined(alike) if isinstance(last, dict) else last
