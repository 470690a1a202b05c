import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.proxy.fair_queue import FairQueue


def filled(*pairs):
    queue = FairQueue()
    for caller, item in pairs:
        queue.put(caller, item)
    return queue


def drained(queue):
    return [queue.take() for _ in range(len(queue))]


def test_callers_take_turns_and_keep_their_own_order():
    queue = filled(*[("a", f"a{i}") for i in range(3)], ("b", "b0"), ("c", "c0"), ("b", "b1"))
    assert drained(queue) == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_who_asks_again_joins_the_end_of_the_round():
    queue = filled(("a", 1), ("b", 2), ("c", 3))
    assert queue.take() == 1
    queue.put("a", 4)
    assert drained(queue) == [2, 3, 4]


def test_what_was_taken_back_is_not_handed_out():
    queue = filled(("a", 1), ("a", 2), ("b", 3))
    assert queue.remove("a", 1)
    assert not queue.remove("a", 1)
    assert not queue.remove("nobody", 1)
    assert drained(queue) == [2, 3]


def test_an_empty_queue():
    with pytest.raises(IndexError):
        FairQueue().take()


@given(st.lists(st.sampled_from("abcd")))
def test_nobody_waits_longer_than_one_turn_of_each_other_caller(callers):
    queue = filled(*[(caller, (caller, number)) for number, caller in enumerate(callers)])
    order = drained(queue)
    assert sorted(order) == sorted((caller, number) for number, caller in enumerate(callers))
    for caller in set(callers):
        mine = [place for place, (name, _) in enumerate(order) if name == caller]
        for rank, place in enumerate(mine):
            assert place <= (rank + 1) * len(set(callers)) - 1
