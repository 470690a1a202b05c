"""The one interface between the engine's drivers and a model server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Protocol, cast

from forge.clients.attempt import Take
from forge.core.capabilities import Capabilities
from forge.core.events import Delta
from forge.core.request import Request


class Backend(ABC):
    """A model server as the engine sees it: a connection, an identity, abilities.

    Drivers test for this class with ``isinstance``; an object that only has ``send`` and ``send_stream`` (the
    public client contract) is adapted instead.
    """

    @abstractmethod
    async def capabilities(self) -> Capabilities:
        """What the backend can do; probed on first use, then cached.

        Raises:
            BackendError: the backend answered the probe with an error.
            BackendUnreachableError: nothing answers there.
        """

    @abstractmethod
    def exchange(self, request: Request, *, headers: Mapping[str, str] | None = None) -> AsyncIterator[Delta]:
        """Run one model turn and yield its deltas as they arrive; the last one is always ``Finish``.

        ``request.stream`` chooses whether the backend is asked to stream. ``headers`` are per-call credentials.
        Closing the iterator (or cancelling the task) closes the connection, which stops generation.

        Raises:
            BackendError: the backend answered with an error status or sent an error event.
            BackendUnreachableError: no connection, or it broke before anything was generated.
            StreamError: the stream ended without saying that it was finished.
        """

    async def batches(
        self, request: Request, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[Delta]]:
        """The same as :meth:`exchange`, in one list what arrived together. A backend may override it.

        Raises:
            As :meth:`exchange`.
        """
        exchange = cast("AsyncGenerator[Delta, None]", self.exchange(request, headers=headers))
        async with aclosing(exchange) as deltas:
            async for delta in deltas:
                yield [delta]

    async def deliver(
        self, request: Request, take: Take, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Run one model turn of which nobody sees anything before its end, and hand its deltas to ``take``.

        The same as iterating over :meth:`batches`. A backend may override it with something cheaper.

        Raises:
            As :meth:`exchange`; what came before an error was taken then.
        """
        exchange = cast("AsyncGenerator[list[Delta], None]", self.batches(request, headers=headers))
        async with aclosing(exchange) as batches:
            async for batch in batches:
                take(batch)

    @abstractmethod
    async def aclose(self) -> None:
        """Close connections. Idempotent."""


class Tokenizer(ABC):
    """A backend that can say how many tokens a text has. Tested for with ``isinstance``, like :class:`Backend`."""

    @abstractmethod
    async def count_tokens(self, text: str, *, headers: Mapping[str, str] | None = None) -> int | None:
        """Tokens of ``text`` alone, without a chat template; None where the server has no tokenizer to ask.

        Never raises for a server that fails: a count is a convenience, and the chat request will say what is wrong.
        """


class Host(Protocol):
    """Whoever keeps a backend's server running: :class:`forge.serving.supervisor.Supervisor`."""

    @property
    def generation(self) -> int:
        """How often the server was started anew."""

    async def ready(self) -> None:
        """Wait while the server is being started anew.

        Raises:
            BackendUnreachableError: it will not run again; a :class:`BackendGivenUpError` where it failed to.
        """

    async def recovered(self, since: int) -> bool:
        """After a call that found nobody: whether another server runs now than that of generation ``since``.

        Raises:
            BackendUnreachableError: it will not run again; a :class:`BackendGivenUpError` where it failed to.
        """
