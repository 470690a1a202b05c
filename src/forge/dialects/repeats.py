"""The same call written twice in two notations is one call; written twice in one notation it is two."""

from __future__ import annotations

import json

from forge.core.calls import ToolCall


class Repeats:
    """The calls of one reply so far.

    Most replies keep to one notation. Calls are told apart by their contents only once a second one appears.
    """

    __slots__ = ("_notation", "_notations", "_unsorted")

    def __init__(self) -> None:
        self._notation = ""
        self._unsorted: list[ToolCall] = []
        self._notations: dict[str, str] | None = None

    def elsewhere(self, call: ToolCall, notation: str) -> bool:
        """Note a call; whether the same one was written before in another notation."""
        if self._notations is None:
            if not self._unsorted or notation == self._notation:
                self._notation = notation
                self._unsorted.append(call)
                return False
            self._notations = {
                key: self._notation for known in self._unsorted if (key := _fingerprint(known)) is not None
            }
            self._unsorted.clear()
        key = _fingerprint(call)
        return key is not None and self._notations.setdefault(key, notation) != notation


def _fingerprint(call: ToolCall) -> str | None:
    """None for arguments that cannot be compared."""
    try:
        return call.tool + _ENCODER.encode(call.args)
    except (TypeError, ValueError, RecursionError):
        return None


_ENCODER = json.JSONEncoder(sort_keys=True)
