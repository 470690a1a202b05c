"""Data that raises when somebody looks at it: how a fault of Forge's own is made to strike anywhere, without patching it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Fuse:
    """Blows at the ``limit``-th use, once. ``struck`` are the modules that were at work then."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.uses = 0
        self.struck: set[str] = set()

    def use(self) -> None:
        self.uses += 1
        if self.uses == self.limit:
            self.struck = {Path(frame.filename).stem for frame in traceback.extract_stack()}
            raise RuntimeError("boom")


class Fused(str):
    """A name that uses its fuse whenever somebody looks at it."""

    __slots__ = ("fuse",)
    fuse: Fuse

    def __eq__(self, other: object) -> bool:
        self.fuse.use()
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        self.fuse.use()
        return str.__hash__(self)

    def __bool__(self) -> bool:
        self.fuse.use()
        return bool(str(self))

    def __len__(self) -> int:
        self.fuse.use()
        return str.__len__(self)

    def __iter__(self) -> Iterator[str]:
        self.fuse.use()
        return str.__iter__(self)

    def __format__(self, spec: str) -> str:
        self.fuse.use()
        return str.__format__(self, spec)


class FusedSchema(dict[str, Any]):
    """A schema that does the same."""

    fuse: Fuse

    def get(self, key: str, default: Any = None) -> Any:
        self.fuse.use()
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.fuse.use()
        return super().__getitem__(key)
