"""Objects as the key of a cache: the very same ones, not equal ones."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class SameObjects(Generic[T]):
    """Equal to another one of the same objects in the same order; comparing schemas would cost what a cache saves.

    Holds the objects, so that an identity in the cache cannot come to mean others.
    """

    __slots__ = ("_ids", "objects")

    def __init__(self, objects: tuple[T, ...]) -> None:
        self.objects = objects
        self._ids = tuple(map(id, objects))

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObjects) and self._ids == other._ids
