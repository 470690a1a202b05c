"""``python -m forge.proxy.worker``: one of several processes that serve one address. Started by its parent only.

The first line on standard input says what to serve (:class:`forge.proxy.workers.Brief`), later ones to stop, or that the model
server is lost; its end means that the parent is gone. ``ready`` on standard output says that requests are being taken.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys

import msgspec

from forge.proxy.lifecycle import Stop, loop_factory
from forge.proxy.log_output import set_up_logging
from forge.proxy.memory import settle
from forge.proxy.runtime import Inherited, Runtime
from forge.proxy.workers import LOST, READY, STOP, Brief

_MOST_BYTES = 2**24  # rules for workflows may be long
_LAST_SECONDS = 3.0


async def _input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_MOST_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def _obey(reader: asyncio.StreamReader, runtime: Runtime, told: asyncio.Event) -> None:
    while (line := await reader.readline()) == STOP or line.startswith(LOST):
        if line == STOP:
            told.set()
            runtime.stop()
        else:
            runtime.lose(msgspec.json.decode(line.removeprefix(LOST), type=str))
    runtime.force()
    await asyncio.sleep(_LAST_SECONDS)
    logging.shutdown()
    os._exit(1)  # whatever it was that did not end: nobody is left to end it later


def _say_ready() -> None:
    os.write(1, READY)


async def _work() -> int:
    reader = await _input()
    brief = msgspec.json.decode(await reader.readline(), type=Brief)
    settings = brief.settings
    set_up_logging(settings.log_format, settings.level, settings.secrets)
    listener = socket.socket(fileno=brief.listener)
    runtime = Runtime(settings, Inherited(listener, brief.backend_url, brief.budget, brief.window))
    Stop(runtime.stop).install()
    told = asyncio.Event()
    obeying = asyncio.create_task(_obey(reader, runtime, told))
    try:
        await runtime.open(require_backend=False)
        settle()
        if not told.is_set():
            await runtime.serve(_say_ready)
    finally:
        obeying.cancel()
        await runtime.aclose()
    return 0


def main() -> int:
    """Serve until told to stop."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_work())


if __name__ == "__main__":
    sys.exit(main())
