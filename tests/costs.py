"""How the cost of something grows with its size, measured so that a busy machine makes no difference."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

_ROUNDS = 6


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether four times the size takes about four times as long; sixteen times is what a quadratic rule would take.

    Counted is the CPU time of this thread without the garbage collector, and the least of a few rounds: noise only ever
    adds to it. The first round that is good enough is the last.
    """
    small = large = float("inf")
    for _ in range(_ROUNDS):
        small = min(small, _spent(work, size))
        large = min(large, _spent(work, 4 * size))
        if large < 9 * small + 0.02:
            return True
    return False


def _spent(work: Callable[[int], object], size: int) -> float:
    gc.disable()
    try:
        began = time.thread_time()
        work(size)
        return time.thread_time() - began
    finally:
        gc.enable()
