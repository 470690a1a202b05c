"""The async driver of a guarded turn: runs its requests on a backend and hands its outputs on as they come."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import TypeAlias, cast

from forge.clients.backend import Backend
from forge.core.events import (
    GUARD_FAILED,
    CallReady,
    Delta,
    Finish,
    Finished,
    Output,
    ReasoningDelta,
    Retrying,
    Send,
    TextDelta,
)
from forge.engine.turn import Turn
from forge.errors import ForgeError, StreamError

logger = logging.getLogger(__name__)

Visible: TypeAlias = TextDelta | ReasoningDelta | CallReady | Retrying | Finished


def new_call_id() -> str:
    """A call id that is unique across conversations, in OpenAI's form."""
    return f"call_{secrets.token_hex(12)}"


async def drive(
    turn: Turn, backend: Backend, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Visible]:
    """Run ``turn`` on ``backend`` and yield its outputs; the last one is ``Finished``.

    Closing the iterator, or cancelling the task, closes the running backend call. ``headers`` go with every
    attempt.

    Raises:
        ForgeError: the backend failed and there was no earlier answer to fall back on.
    """
    outputs: list[Output] = turn.start()
    while True:
        send: Send | None = None
        for output in outputs:
            if isinstance(output, Send):
                send = output
            else:
                _note_guard_failures(output)
                yield output
        if send is None:
            return
        outputs = []
        exchange = cast("AsyncGenerator[Delta, None]", backend.exchange(send.request, headers=headers))
        try:
            async with aclosing(exchange) as deltas:
                async for delta in deltas:
                    outputs = turn.feed(delta)
                    if isinstance(delta, Finish):
                        # An exchange that ends by itself costs less than one that is closed.
                        with suppress(ForgeError):
                            await anext(deltas, None)
                        break
                    for output in outputs:
                        yield cast("Visible", output)  # only Finish makes the turn send again
                else:
                    raise StreamError("the backend's answer ended without saying that it was finished")
        except ForgeError as error:
            logger.warning("attempt %d failed: %s", send.attempt, error)
            outputs = turn.fail(error)


def _note_guard_failures(output: Output) -> None:
    """A fault of ours cost nobody an answer, so this is the only place where it shows."""
    for attempt in output.attempts if isinstance(output, Finished) else ():
        if attempt.verdict == GUARD_FAILED:
            logger.error("a guard failed, the backend's answer was passed through: %s", attempt.detail)
