"""When a request is answered: at its turn, within the time that it may take, and until the proxy ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from forge.clients.deadline import deadline
from forge.proxy.error_response import HttpError
from forge.proxy.service import Service

T = TypeVar("T")


async def served(service: Service, caller: str, answer: Callable[[T], Awaitable[None]], to: T) -> None:
    """Await ``answer(to)`` when it is this caller's turn.

    Raises:
        HttpError: 503 where too many wait or the proxy ends, 504 where it took too long.
    """
    seconds = service.settings.limits.total_seconds
    with service.closing.attended():
        if service.slots.bounded:
            async with service.slots.place(caller):
                await _in_time(seconds, answer, to)
        elif seconds is None:
            await answer(to)
        else:
            await _in_time(seconds, answer, to)


async def _in_time(seconds: float | None, answer: Callable[[T], Awaitable[None]], to: T) -> None:
    try:
        with deadline(seconds):
            await answer(to)
    except TimeoutError:
        sentence = f"the request took longer than {seconds:g} seconds (--total-timeout)"
        raise HttpError(504, sentence, code="total_timeout") from None
