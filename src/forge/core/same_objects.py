"""What was made of objects, kept by their identity: the very same ones, not equal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forge.core.remembered import LONGEST

T = TypeVar("T")
V = TypeVar("V")


class OfSameObjects(Generic[T, V]):
    """``make(objects)``, made once for as long as the same objects keep coming in the same order.

    Comparing them (schemas) would cost what this saves. What is kept holds the objects, so that an identity in it
    cannot come to mean others. At most ``size`` are kept; the oldest goes first. ``written`` says how many bytes some
    objects were written in: of more than :data:`forge.core.remembered.LONGEST` nothing is kept.

    May be used by several threads: what is known is one dictionary, replaced as a whole.
    """

    __slots__ = ("_known", "_make", "_size", "_written")

    def __init__(
        self,
        make: Callable[[tuple[T, ...]], V],
        size: int,
        written: Callable[[tuple[T, ...]], int] = lambda _: 0,
    ) -> None:
        self._make = make
        self._written = written
        self._size = size
        self._known: dict[tuple[int, ...], tuple[tuple[T, ...], V]] = {}

    def __call__(self, objects: tuple[T, ...]) -> V:
        """What was made of ``objects``."""
        key = tuple(map(id, objects))
        known = self._known.get(key)
        if known is not None:
            return known[1]
        made = self._make(objects)
        if self._written(objects) <= LONGEST:
            kept = [*self._known.items(), (key, (objects, made))]
            self._known = dict(kept[-self._size :])
        return made
