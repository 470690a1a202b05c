"""Streamed tool-call deltas from servers that index them carelessly, brought under one stable index per call."""

from __future__ import annotations

from typing import Any

from forge.core.events import CallDelta
from forge.wire.json_text import dumps, is_json, well_formed


class _Slot:
    """One call as it grows. ``announced`` once its name has been given out."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.id: str | None = None
        self.id_given = False
        self.name = ""
        self.announced = False
        self.arguments: list[str] = []

    @property
    def whole(self) -> bool:
        """Whether its arguments are complete JSON, so that another piece must belong to another call."""
        # Looked at for each piece that names its tool again, so the cheap question comes first.
        last = next((piece for piece in reversed(self.arguments) if not piece.isspace()), "")
        return last.rstrip().endswith("}") and is_json("".join(self.arguments))


class CallSlots:
    """Assigns pieces to calls and gives them out as ``CallDelta``; a name goes out once, whole.

    Seen from real servers: no index at all, every call under index 0, the id and name only in the first piece or
    in each, null for what is absent, a name in several pieces.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}

    @property
    def any(self) -> bool:
        """Whether there was any call."""
        return bool(self._slots)

    def feed(self, piece: dict[str, Any]) -> list[CallDelta]:
        """The deltas of one entry of ``tool_calls``."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = piece.get("id"), function.get("name")
        call_id = call_id if isinstance(call_id, str) and call_id else None
        name = well_formed(name) if isinstance(name, str) and name else None
        index = piece.get("index")
        before = self._slots[-1] if self._slots else None
        slot = self._slot(index if isinstance(index, int) else None, call_id, name)
        deltas = [self._announce(before)] if before is not None and before is not slot else []
        if call_id is not None and slot.id is None:
            slot.id = call_id
        # Some servers repeat the whole name with each piece.
        if name is not None and not slot.announced and name != slot.name:
            slot.name += name
        arguments = _arguments(function.get("arguments"))
        if arguments:
            slot.arguments.append(arguments)
            deltas.append(self._announce(slot, arguments))
        return [delta for delta in deltas if delta is not None]

    def end(self) -> list[CallDelta]:
        """What is still to be said when the stream is over: a call without arguments."""
        last = self._announce(self._slots[-1]) if self._slots else None
        return [last] if last is not None else []

    def _slot(self, index: int | None, call_id: str | None, name: str | None) -> _Slot:
        slot = self._by_index.get(index) if index is not None else None
        if index is None:
            known = [s for s in self._slots if call_id is not None and s.id == call_id]
            slot = known[0] if known else (self._slots[-1] if self._slots else None)
        if slot is None or _another(slot, call_id, name):
            slot = _Slot(len(self._slots))
            self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _announce(self, slot: _Slot, arguments: str = "") -> CallDelta | None:
        first = not slot.announced
        new_id = slot.id if slot.id is not None and not slot.id_given else None
        if not (first or new_id or arguments):
            return None
        slot.announced = True
        slot.id_given = slot.id is not None
        return CallDelta(index=slot.number, id=new_id, name=slot.name if first else None, arguments=arguments)


def _another(slot: _Slot, call_id: str | None, name: str | None) -> bool:
    """Whether a piece under this slot's index is the start of another call."""
    if call_id is not None and slot.id is not None and call_id != slot.id:
        return True
    if name is None or not slot.arguments or call_id == slot.id is not None:
        return False
    return name != slot.name or slot.whole


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return well_formed(value)
    return "" if value is None else dumps(value).decode()
