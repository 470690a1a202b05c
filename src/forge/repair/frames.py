"""What the tolerant reader keeps for each open bracket."""

from __future__ import annotations

from typing import Any

from forge.repair.reading import Fault


class Frame:
    """One open bracket. ``path`` is the JSON pointer of its container."""

    __slots__ = ("container", "doubled", "fresh", "key", "kind", "last", "path", "repeat")

    def __init__(self, kind: str, path: str) -> None:
        self.kind, self.path = kind, path
        self.container: Any = {} if kind == "{" else []
        self.key = ""
        self.doubled = 0  # braces written twice: closers to swallow
        self.fresh = True  # nothing but the bracket, or a comma, was read last
        self.repeat = -1  # offset of a value that may be the last one printed again
        self.last: Any = None

    def child_path(self) -> str:
        """The JSON pointer of the member or item that is being read."""
        if self.kind == "{":
            return f"{self.path}/{self.key.replace('~', '~0').replace('/', '~1')}"
        return f"{self.path}/{len(self.container)}"


class Stop(Exception):  # noqa: N818 - control flow inside the reader, never seen outside
    """Ends a reading at once."""

    def __init__(self, fault: Fault, pos: int, *, in_string: bool = False) -> None:
        super().__init__(fault)
        self.fault: Fault = fault
        self.pos = pos
        self.in_string = in_string
