"""What one tolerant read gives: a value, where it ended, what had to be mended."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from forge.core.ledger import Fix, Risk

Fault: TypeAlias = Literal["", "absent", "cut_off", "unreadable", "too_deep"]

MAX_DEPTH = 128
"""Deepest nesting of arrays and objects that is read. Deeper text is refused, never an error."""

MAX_FIXES = 128
"""Longest ledger of one reading. Past it only a fix of a higher risk than any before is still added."""

_RANK = {Risk.SAFE: 0, Risk.RISKY: 1, Risk.TRUNCATED: 2}


class Reading(Struct, frozen=True, kw_only=True):
    """One JSON value read from text.

    ``end`` is the offset just past the value, where a scanner goes on (equal to the start offset when no value
    begins there). ``complete`` is True when the value is whole. It is whole when its own closer was read; when
    an explicit end mark (a closing tag, a special token, a fence) follows a whole last member; or when the text
    simply ends and *only the outermost* bracket is missing after a whole last member (``closed`` is False
    then). So for a call object ``{"name": …, "arguments": {…}`` a reader may accept ``complete`` without
    ``closed``, because the arguments object was closed by the model itself; for arguments read on their own
    only ``closed`` will do, since more arguments may have been cut off.

    ``fault`` says why a reading is not complete: ``absent`` (no value here), ``cut_off`` (the text ended
    first), ``unreadable`` (no reading is plausible), ``too_deep``. ``value`` then holds what was read so far,
    for diagnosis only.
    """

    value: Any = None
    end: int
    fixes: tuple[Fix, ...] = ()
    complete: bool = False
    closed: bool = False
    fault: Fault = ""
    in_string: bool = False
    """The text ended inside a string, so that no closer added behind it can complete the value."""

    @property
    def risk(self) -> Risk | None:
        """The highest risk among the fixes, None for text that was valid as it stood."""
        return max((fix.risk for fix in self.fixes), key=_RANK.__getitem__, default=None)


class Ledger:
    """Collects fixes, drops repeats of the last one, stays bounded."""

    __slots__ = ("_worst", "fixes")

    def __init__(self) -> None:
        self.fixes: list[Fix] = []
        self._worst = -1

    def add(self, fix: Fix) -> None:
        """Note one repair."""
        rank = _RANK[fix.risk]
        if self.fixes and len(self.fixes) >= MAX_FIXES and rank <= self._worst:
            return
        if self.fixes and self.fixes[-1] == fix:
            return
        self._worst = max(self._worst, rank)
        self.fixes.append(fix)
