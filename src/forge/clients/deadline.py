"""A bound on how long a part of a task may take."""

from __future__ import annotations

import asyncio


class deadline:  # noqa: N801 - used as a verb: ``with deadline(seconds):``
    """Raise TimeoutError out of the ``with`` block when it takes longer than ``seconds``; None is no bound.

    What ``asyncio.timeout`` does, at less than half of its cost: it cannot be moved, and needs no ``async with``.
    """

    __slots__ = ("_before", "_passed", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._passed = False

    def __enter__(self) -> None:
        if self._seconds is None:
            return
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None, "a deadline belongs to a task"
        self._task = task
        self._before = task.cancelling()
        self._timer = loop.call_later(self._seconds, self._pass)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        # Cancelled from elsewhere at the same time, it stays cancelled.
        if self._passed and self._task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _pass(self) -> None:
        self._passed = True
        self._task.cancel()
