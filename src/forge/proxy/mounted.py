"""The proxy as an ASGI application, to be served by any server or mounted in another application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Unpack

from starlette.applications import Starlette
from starlette.routing import Router

from forge.proxy import app
from forge.proxy.body import Receive, Scope, Send
from forge.proxy.python_options import ProxyOptions, settings_from
from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings


class ProxyApp:
    """An ASGI application; make one with :func:`create_app`.

    Its ``lifespan`` opens and closes the connections to the backend, and the backend itself where Forge starts it. A
    server runs it by itself. An application that this one is mounted in must be given it, since applications do not
    run the lifespans of what is mounted in them; where nobody runs it, the first request opens, and nothing closes
    before the process ends.
    """

    def __init__(self, settings: Settings) -> None:
        settings.check()
        self._settings = settings
        self._runtime: Runtime | None = None
        self._app: Starlette | None = None
        self._opening = asyncio.Lock()
        self._router = Router(lifespan=self.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event, below whatever prefix it is mounted at."""
        if scope["type"] == "lifespan":
            await self._router(scope, receive, send)
            return
        inner = self._app if self._app is not None else await self._open()
        prefix, path = scope.get("root_path", ""), scope["path"]
        if prefix and path.startswith(prefix):
            # Routes, keys and error shapes go by the path below the prefix.
            scope = {**scope, "path": path.removeprefix(prefix) or "/", "root_path": ""}
        await inner(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """``Starlette(..., lifespan=proxy.lifespan)``, or part of a lifespan of your own.

        Raises:
            ForgeError: a backend that Forge starts did not come up.
        """
        await self._open()
        try:
            yield
        finally:
            runtime, self._runtime, self._app = self._runtime, None, None
            if runtime is not None:
                await runtime.aclose()

    async def _open(self) -> Starlette:
        async with self._opening:
            if self._app is None:
                runtime = Runtime(self._settings)
                try:
                    self._app = app.create_app(await runtime.connect())
                except BaseException:
                    await runtime.aclose()
                    raise
                self._runtime = runtime
            return self._app


def create_app(**options: Unpack[ProxyOptions]) -> ProxyApp:
    """The proxy as an ASGI application.

    The options are those of :class:`forge.proxy.ProxyServer`, all of them by name. ``host`` is the address that the
    surrounding server listens on: only for a loopback address may ``Host`` be no other machine's, and any other one
    demands ``api_key`` or ``allow_anonymous``. Of ``limits`` those count that concern bodies, the queue and the
    backend; headers and connections are the surrounding server's.

    Raises:
        ValueError: an option is out of range or contradicts another.
        TypeError: there is no such option.
    """
    unknown = sorted(set(options) - ProxyOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"create_app() has no option {', '.join(unknown)}")
    return ProxyApp(settings_from(options))
