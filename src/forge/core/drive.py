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
    BlockDelta,
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

Visible: TypeAlias = TextDelta | ReasoningDelta | BlockDelta | CallReady | Retrying | Finished


def new_call_id() -> str:
    """A call id that is unique across conversations, in OpenAI's form."""
    return f"call_{secrets.token_hex(12)}"


async def drive(
    turn: Turn, backend: Backend, headers: Mapping[str, str] | None = None
) -> AsyncIterator[list[Visible]]:
    """Run ``turn`` on ``backend`` and yield its outputs, in one list what came together; the last is ``Finished``.

    The very first output does not wait for what came with it. Closing the iterator, or cancelling the task, closes the
    running backend call. ``headers`` go with every attempt.

    Raises:
        ForgeError: the backend failed and there was no earlier answer to fall back on.
    """
    begun = False
    outputs: list[Output] = turn.start()
    while True:
        visible, send = _sorted(outputs)
        if visible:
            yield visible
        if send is None:
            return
        attempt = _Attempt(turn)
        exchange = cast("AsyncGenerator[list[Delta], None]", backend.batches(send.request, headers=headers))
        try:
            async with aclosing(exchange) as batches:
                async for batch in batches:
                    for delta in batch:
                        attempt.take(delta)
                        if not begun and attempt.outputs and not attempt.finished:
                            begun = True
                            yield attempt.taken()
                    if attempt.finished:
                        # An exchange that ends by itself costs less than one that is closed.
                        with suppress(ForgeError):
                            await anext(batches, None)
                        break
                    if attempt.outputs:
                        yield attempt.taken()
                else:
                    raise _unfinished()
        except ForgeError as error:
            if not attempt.finished:
                attempt.outputs += _failed(turn, send, error)
        outputs = attempt.outputs


async def drive_whole(
    turn: Turn, backend: Backend, headers: Mapping[str, str] | None = None
) -> list[Visible]:
    """As :func:`drive`, for an answer of which nobody sees anything before its end: all outputs at once.

    Raises:
        ForgeError: as :func:`drive`.
    """
    shown: list[Visible] = []
    outputs: list[Output] = turn.start()
    while True:
        visible, send = _sorted(outputs)
        shown += visible
        if send is None:
            return shown
        attempt = _Attempt(turn)
        try:
            await backend.deliver(send.request, attempt.take_batch, headers=headers)
            if not attempt.finished:
                raise _unfinished()
        except ForgeError as error:
            if not attempt.finished:
                attempt.outputs += _failed(turn, send, error)
        outputs = attempt.outputs


class _Attempt:
    """What comes of the deltas of one attempt. Behind the end of the answer nothing counts any more, errors included."""

    __slots__ = ("_turn", "finished", "outputs")

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.outputs: list[Output] = []
        self.finished = False

    def take(self, delta: Delta) -> None:
        if not self.finished:
            self.outputs += self._turn.feed(delta)
            self.finished = isinstance(delta, Finish)

    def take_batch(self, deltas: list[Delta]) -> None:
        if not self.finished:
            self.outputs += self._turn.take(deltas)
            last = deltas[-1] if deltas else None
            self.finished = isinstance(last, Finish) or any(isinstance(delta, Finish) for delta in deltas)

    def taken(self) -> list[Visible]:
        """The outputs so far, which are given out. Before the end of an answer nothing makes the turn send again."""
        outputs, self.outputs = self.outputs, []
        return cast("list[Visible]", outputs)


def _sorted(outputs: list[Output]) -> tuple[list[Visible], Send | None]:
    """What the caller gets, and the attempt that follows. A fault of ours cost nobody an answer: here it shows."""
    visible: list[Visible] = []
    send: Send | None = None
    for output in outputs:
        if isinstance(output, Send):
            send = output
            continue
        visible.append(output)
        if isinstance(output, Finished):
            for attempt in output.attempts:
                if attempt.verdict == GUARD_FAILED:
                    logger.error(
                        "a guard failed, the backend's answer was passed through: %s", attempt.detail
                    )
    return visible, send


def _failed(turn: Turn, send: Send, error: ForgeError) -> list[Output]:
    logger.warning("attempt %d failed: %s", send.attempt, error)
    return turn.fail(error)


def _unfinished() -> StreamError:
    return StreamError("the backend's answer ended without saying that it was finished")
