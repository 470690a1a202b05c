"""Running one tool: sync ones in a thread of their own, async ones on the loop, all of them within their time."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from io import IOBase
from itertools import islice
from typing import Any

from forge.core.workflow import ToolDef
from forge.errors import ToolTimeoutError

MAX_ITEMS = 10_000
"""Items taken from a tool that yields its result; one that never ends must not fill the memory."""


async def execute_tool(tool: ToolDef, args: dict[str, Any], default_timeout: float | None = None) -> Any:
    """Call the tool's function with arguments that fit its schema and return its result, awaited.

    A sync function runs in a daemon thread, so that it neither stalls the event loop nor keeps a process alive; it
    sees the caller's context variables. When its time is up, or the caller is cancelled, an async function is
    cancelled; a thread cannot be, so its result is dropped when it comes. What a generator (or another iterator) yields
    is collected as a list of at most :data:`MAX_ITEMS`, where the function runs and within its time.

    Raises:
        ToolTimeoutError: the tool did not finish within ``tool.timeout`` (or ``default_timeout``) seconds.
        BaseException: whatever the tool raises.
    """
    timeout = default_timeout if tool.timeout is None else tool.timeout
    kwargs = tool.spec.bind(args)
    if timeout is None:
        return await _call(tool, kwargs)
    try:
        async with asyncio.timeout(timeout) as scope:
            return await _call(tool, kwargs)
    except TimeoutError:
        if scope.expired():
            raise ToolTimeoutError(tool.name, timeout) from None
        raise


async def _call(tool: ToolDef, kwargs: dict[str, Any]) -> Any:
    function, name = tool.callable, f"forge-tool-{tool.name}"
    if is_async(function):
        result = function(**kwargs)
    else:
        result = await _in_thread(lambda: _drained(function(**kwargs)), name)
    # A sync function may return a coroutine (a lambda around an async one); it is run here, on the loop.
    if inspect.isawaitable(result):
        result = await result
    if inspect.isasyncgen(result):
        return await _collected(result)
    return await _in_thread(functools.partial(_drained, result), name) if _is_stream(result) else result


def _is_stream(result: Any) -> bool:
    """Whether a result can be read once only, and reading it runs the tool's code. Files are handles, not results."""
    return isinstance(result, Iterator) and not isinstance(result, IOBase)


def _drained(result: Any) -> Any:
    return list(islice(result, MAX_ITEMS)) if _is_stream(result) else result


async def _collected(result: AsyncGenerator[Any, Any]) -> list[Any]:
    items: list[Any] = []
    async with aclosing(result):
        async for item in result:
            items.append(item)
            if len(items) >= MAX_ITEMS:
                break
    return items


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a coroutine: also for partials and for objects with async ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - not asking whether, but how
    )


async def _in_thread(function: Callable[[], Any], name: str) -> Any:
    # One daemon thread for each call. A pool would be starved by tools that hang, and the loop's own pool is waited
    # for at exit, so one hanging tool would keep the process from ending.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome = functools.partial(_set_result, future, context.run(function))
        except StopIteration as error:
            # A future refuses StopIteration, which would end the awaiting coroutine.
            wrapped = RuntimeError("the tool raised StopIteration")
            wrapped.__cause__ = error
            outcome = functools.partial(_set_exception, future, wrapped)
        except BaseException as error:  # noqa: BLE001 - carried to whoever awaits
            outcome = functools.partial(_set_exception, future, error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(outcome)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future


def _set_result(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _set_exception(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
