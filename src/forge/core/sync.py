"""Async code for callers without an event loop: one private loop in one thread, shared by all of them."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_WIND_UP_S: Final = 2.0
"""Seconds that the end of the program may wait for the loop's."""


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run ``coroutine`` to its end and return its result; an interrupt cancels it.

    All calls share one loop, so a client with open connections can be used again and again. Callable from any
    thread, also one with an event loop of its own, which then stands still meanwhile.

    Raises:
        RuntimeError: called by async code that runs in here already; it would wait for itself.
    """
    loop = _private_loop()
    if asyncio._get_running_loop() is loop:  # noqa: SLF001 - the public form raises where there is none
        coroutine.close()
        raise RuntimeError("async code cannot wait for itself: await the async form instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _private_loop() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_loop.run_forever, name="forge-sync", daemon=True)
            thread.start()
            atexit.register(_end, _loop, thread)
        return _loop


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End the loop with the program, as ``asyncio.run`` would: connections that nobody closed are closed."""
    if thread.is_alive() and not loop.is_closed():  # a forked process has the loop, and not the thread
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_wind_up(loop), loop).result(_WIND_UP_S)
        loop.call_soon_threadsafe(loop.stop)


async def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
