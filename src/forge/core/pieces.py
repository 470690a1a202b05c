"""Fields that come in pieces with a streamed text, put together."""

from __future__ import annotations

from typing import Any


def add_pieces(into: dict[str, Any], fields: dict[str, Any]) -> None:
    """Add ``fields`` to those of ``into``: strings and lists grow, objects merge, the last of anything else counts.

    ``into`` is changed, what it holds is not.
    """
    for name, value in fields.items():
        old = into.get(name)
        if isinstance(old, str) and isinstance(value, str):  # noqa: SIM114 - merged, the types are lost
            into[name] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            into[name] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            into[name] = dict(old)
            add_pieces(into[name], value)
        else:
            into[name] = value
