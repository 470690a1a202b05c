"""Keys by identity."""

from __future__ import annotations

import pytest

from forge.core.same_objects import SameObjects

A, B = [1], [1]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param((A, B), (A, B), True, id="the-same-objects-in-other-tuples"),
        pytest.param((A,), (B,), False, id="equal-objects-are-others"),
        pytest.param((A, B), (B, A), False, id="the-order-counts"),
        pytest.param((A,), (A, A), False, id="the-number-counts"),
        pytest.param((), (), True, id="none"),
    ],
)
def test_keys_are_equal_for_the_very_same_objects(
    left: tuple[list[int], ...], right: tuple[list[int], ...], same: bool
) -> None:
    assert (SameObjects(left) == SameObjects(right)) is same
    assert len({SameObjects(left), SameObjects(right)}) == (1 if same else 2)


def test_a_key_holds_its_objects_so_that_no_identity_is_given_anew() -> None:
    key = SameObjects(([2],))
    assert key != SameObjects(([2],))
    assert key.objects == ([2],)


def test_a_key_is_no_tuple() -> None:
    assert SameObjects((A,)) != (A,)
