"""A proxy in the test's own event loop, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings


@asynccontextmanager
async def running_proxy(backend_url: str, **settings: Any) -> AsyncIterator[Runtime]:
    """A running proxy in front of ``backend_url``; ``settings`` as for :class:`Settings`."""
    runtime = Runtime(Settings(backend_url=backend_url, port=settings.pop("port", 0), **settings))
    try:
        await runtime.open(require_backend=False)
        started = asyncio.Event()
        serving = asyncio.create_task(runtime.serve(started.set))
        try:
            await started.wait()
            yield runtime
        finally:
            runtime.force()
            await serving
    finally:
        await runtime.aclose()
