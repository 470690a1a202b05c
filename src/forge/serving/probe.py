"""Whether a model server is ready: by its own process, what it answers, and whose socket the answer came from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct
from yarl import URL

from forge.clients.llama_props import read_props
from forge.clients.model_catalog import read_catalog
from forge.clients.transport import Timeouts, Transport
from forge.clients.urls import join
from forge.errors import BackendError, BackendUnreachableError, ServerStartError, StreamError
from forge.serving import ports, process
from forge.serving.budget import amount
from forge.wire.json_text import loads

logger = logging.getLogger(__name__)

_TIMEOUTS: Final = Timeouts(connect=2.0, first_byte=5.0, between_bytes=5.0, total=5.0)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_PROGRESS_SECONDS: Final = 5.0
_GROWTH: Final = 1024 * 1024
_WILDCARDS: Final = frozenset({"0.0.0.0", "::", "[::]", ""})  # noqa: S104 - recognised, not bound


class Address(Struct, frozen=True, kw_only=True):
    """Where a server is asked, and with which key."""

    host: str
    port: int
    key: str | None = None

    @classmethod
    def of(cls, port: int, flags: Sequence[str]) -> Address:
        """The address of a server started with these flags of its user's."""
        host = _value(flags, "--host") or ""
        return cls(
            host="127.0.0.1" if host in _WILDCARDS else host, port=port, key=_value(flags, "--api-key")
        )

    @property
    def root(self) -> URL:
        """Its root URL."""
        return URL.build(scheme="http", host=self.host, port=self.port)


def _value(flags: Sequence[str], name: str) -> str | None:
    """The value of a flag, the last one if it is given more than once."""
    found = None
    for flag, following in zip_longest(flags, flags[1:]):
        if flag == name:
            found = following
        elif flag.startswith(f"{name}="):
            found = flag.removeprefix(f"{name}=")
    return found


class Status(Struct, frozen=True, kw_only=True):
    """What a server says of itself. ``context``: tokens per request, None where it does not say."""

    ready: bool
    context: int | None = None
    model: str | None = None
    properties: dict[str, Any] = {}


class Probe:
    """Asks one server of a known kind how it is."""

    def __init__(self, backend: str, address: Address) -> None:
        self.address = address
        self._vllm = backend == "vllm"
        self._headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
        self._transport = Transport(_TIMEOUTS)

    async def ask(self) -> Status | None:
        """Its status; None where nothing (or nothing that makes sense) answers."""
        url = join(self.address.root, "/v1/models" if self._vllm else "/props")
        try:
            async with self._transport.open("GET", url, headers=self._headers) as incoming:
                body = await incoming.read()
                if incoming.status != 200:
                    return Status(ready=False)
            return _vllm_status(body) if self._vllm else _llama_status(loads(body))
        except (BackendError, BackendUnreachableError, StreamError, ValueError):
            return None

    async def aclose(self) -> None:
        """Close its connections."""
        await self._transport.aclose()


def _llama_status(answer: Any) -> Status:
    props = read_props(answer)
    if props is None or not isinstance(answer.get("default_generation_settings"), dict):
        return Status(ready=False)
    return Status(ready=True, context=props.context_length, model=props.model, properties=answer)


def _vllm_status(body: bytes) -> Status:
    catalogue = read_catalog(body)
    if not catalogue:
        return Status(ready=False)
    return Status(
        ready=True, context=catalogue[0].context_length, model=catalogue[0].id, properties=loads(body)
    )


async def require_free(name: str, probe: Probe) -> None:
    """Refuse to start a server where another one sits: whatever that is, it is not ours.

    Raises:
        ServerStartError: somebody listens on the port; says who, where they tell.
    """
    address = probe.address
    if not await ports.answers(address.host, address.port):
        return
    status = await probe.ask()
    who = (
        f"a model server ({status.model or 'unnamed model'})"
        if status and status.ready
        else "another program"
    )
    raise ServerStartError(
        f"{name} cannot start: port {address.port} is taken by {who} that Forge did not start",
        hint="Stop it, choose another port, or port 0 for a free one.",
    )


class Patience(Struct, frozen=True, kw_only=True):
    """``quiet``: seconds for which a loading server may show no progress, neither in its log nor in its memory.

    ``size``: bytes of the model, to say how far it is; None where that is not known.
    """

    quiet: float
    size: int | None = None


async def until_ready(child: process.ChildServer, probe: Probe, patience: Patience) -> str:
    """Wait until the child itself serves; its root URL. Its death is seen by :func:`forge.serving.process.start`.

    Raises:
        ServerStartError: it makes no progress, or another program answers on its port.
    """
    loop = asyncio.get_running_loop()
    began = shown = moved = loop.time()
    seen = (0, 0)
    pause = _FIRST_PAUSE
    while True:
        status = await probe.ask()
        if status is not None and status.ready:
            await _require_own(child, probe.address.port)
            logger.info("%s is ready after %.1f s", child.launch.name, loop.time() - began)
            return str(probe.address.root)
        now, signs = loop.time(), await asyncio.to_thread(_signs_of_life, child)
        if signs[0] > seen[0] or signs[1] > seen[1] + _GROWTH:
            seen, moved = signs, now
        if now - moved > patience.quiet:
            raise process.start_error(child, f"was not ready and made no progress for {patience.quiet:g} s")
        if now - shown > _PROGRESS_SECONDS:
            shown = now
            logger.info("%s", _progress(child, now - began, signs[1], patience.size))
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def _require_own(child: process.ChildServer, port: int) -> None:
    if await asyncio.to_thread(ports.listens, child.pid, port) is False:
        raise process.start_error(child, f"does not listen on port {port}, where another program answers")


def _signs_of_life(child: process.ChildServer) -> tuple[int, int]:
    """Bytes of its log, bytes of its memory."""
    try:
        written = child.launch.log_path.stat().st_size
    except OSError:
        written = 0
    return written, ports.memory_of(child.pid)


def _progress(child: process.ChildServer, seconds: float, memory: int, size: int | None) -> str:
    of = f" of about {amount(size)}" if size else ""
    said = child.log_tail(1)
    return f"{child.launch.name} is loading: {seconds:.0f} s, {amount(memory)}{of} in memory" + (
        f"; it says: {said}" if said else ""
    )
