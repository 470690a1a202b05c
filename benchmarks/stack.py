"""The embedded model server and a Forge proxy in front of it, as a benchmark needs them: both owned, both ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import aiohttp

from forge.errors import ForgeError
from forge.serving import logs, process


@contextlib.asynccontextmanager
async def proxy(*arguments: str, log: Path | None = None) -> AsyncIterator[str]:
    """``python -m forge.proxy`` with these arguments on a free port; gives its base URL."""
    port = free_port()
    launch = process.Launch(
        name="the proxy",
        argv=(sys.executable, "-m", "forge.proxy", *arguments, "--port", str(port)),
        log_path=log or logs.new_log_path("proxy"),
        environment={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        ready_timeout=60,
    )
    child, base_url = await process.start(launch, lambda _child: _answers(f"http://127.0.0.1:{port}"))
    async with child:
        # Nobody reads what it prints from here on, and a full pipe would stop it.
        drain = asyncio.create_task(child.stdout.read())
        try:
            yield base_url
        finally:
            drain.cancel()


async def _answers(base_url: str) -> str:
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"{base_url}/forge/health") as response:
                    if response.status == 200:
                        return base_url
            except aiohttp.ClientError:
                pass  # not listening yet; its end would be noticed by whoever waits for us
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def scripted_backend(script: str, *arguments: str) -> AsyncIterator[str]:
    """``script`` as a server of its own process, on a free port (``--serve PORT``); gives the base URL that it prints."""
    launch = process.Launch(
        name="the scripted backend",
        argv=(sys.executable, script, "--serve", str(free_port()), *arguments),
        log_path=logs.new_log_path("scripted"),
        ready_timeout=60,
    )

    async def announced(child: process.ChildServer) -> str:
        return (await child.stdout.readline()).decode().strip()

    child, base_url = await process.start(launch, announced)
    async with child:
        yield base_url


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a benchmark; Ctrl-C and SIGTERM end it with everything that it started, known failures are one line."""

    def stop(_number: int, _frame: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # asyncio turns that into an orderly cancellation

    signal.signal(signal.SIGTERM, stop)
    try:
        asyncio.run(main)
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        sys.exit(130)
    except ForgeError as error:
        sys.exit(f"error: {error}. {error.hint}".rstrip())
