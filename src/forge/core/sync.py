"""Async code for callers without an event loop: one private loop in one thread, shared by all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


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
            threading.Thread(target=_loop.run_forever, name="forge-sync", daemon=True).start()
        return _loop
