"""What is kept by identity."""

from __future__ import annotations

import sys
import threading

import pytest
from msgspec import Raw

from forge.core.remembered import LONGEST
from forge.core.request import Tool, written_bytes
from forge.core.same_objects import OfSameObjects

A, B = [1], [1]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param((A, B), (A, B), True, id="the-same-objects-in-other-tuples"),
        pytest.param((A,), (B,), False, id="equal-objects-are-others"),
        pytest.param((A, B), (B, A), False, id="the-order-counts"),
        pytest.param((A,), (A, A), False, id="the-number-counts"),
        pytest.param((), (), True, id="none"),
    ],
)
def test_made_once_of_the_very_same_objects(
    first: tuple[list[int], ...], second: tuple[list[int], ...], same: bool
) -> None:
    made_of = OfSameObjects[list[int], list[object]](list, size=4)
    assert (made_of(first) is made_of(second)) is same
    assert made_of(second) == list(second)


def test_objects_are_held_so_that_no_identity_is_given_anew() -> None:
    sums = OfSameObjects[list[int], int](lambda lists: sum(map(sum, lists)), size=1000)
    assert [sums(([number],)) for number in range(100)] == list(range(100))


def test_the_oldest_goes_first() -> None:
    made: list[tuple[list[int], ...]] = []
    count = OfSameObjects[list[int], None](made.append, size=2)
    three = [([1],), ([2],), ([3],)]
    for objects in (*three, three[2], three[1], three[0]):
        count(objects)
    assert made == [*three, three[0]]


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        pytest.param(LONGEST, True, id="as-long-as-may-be"),
        pytest.param(LONGEST + 1, False, id="longer"),
        pytest.param(None, True, id="written-by-nobody"),
    ],
)
def test_of_what_is_long_nothing_is_kept(size: int | None, kept: bool) -> None:
    tool = Tool(name="f", raw=None if size is None else Raw(b" " * size))
    made_of = OfSameObjects[object, list[object]](list, size=4, written=written_bytes)
    objects = ("no tool", tool)
    assert (made_of(objects) is made_of(objects)) is kept


def test_threads_may_share_it() -> None:
    made_of = OfSameObjects[list[int], list[object]](list, size=4)
    wrong: list[object] = []

    def use() -> None:
        for number in range(5_000):
            try:
                if made_of(([number],)) != [[number]]:
                    wrong.append(number)
            except RuntimeError as error:
                wrong.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    assert len(made_of._known) <= 4
