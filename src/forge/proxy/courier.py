"""The pass-through road: requests that nothing is guarded in, byte for byte in both directions.

Chats without tools, chats with several choices, and the backend's own metadata routes take it. Only a request's
body, its content type and at most one credential go to the backend; only the status, the content type, the body
and a ``Retry-After`` come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import quote

from yarl import URL

from forge.clients.backend import Host
from forge.clients.credentials import credential_slots, in_slot
from forge.clients.transport import Incoming, Transport
from forge.errors import (
    BackendError,
    BackendUnreachableError,
    ForgeError,
    MultipleCredentialsError,
    StreamError,
)
from forge.proxy.addresses import mask_url, mount_root
from forge.proxy.backends import KINDS, timeouts_of
from forge.proxy.settings import Settings

_PROBE_SECONDS = 5.0
_NO_SUCH_PAGE = (404, 405)
_QUERY_SAFE = "!$&'()*+,;=:@/?%-._~"
_RETURNED_HEADERS = ("content-type", "retry-after")


class Courier:
    """One connection pool to one backend. ``url`` is its root; only that origin ever gets a credential."""

    def __init__(self, url: str, settings: Settings) -> None:
        root = mount_root(url)
        self.shown_url = mask_url(root)
        self._root = URL(root, encoded=True)
        kind = KINDS[settings.kind]
        self._defaults = dict(kind.headers)
        key = settings.backend_api_key
        self._own = in_slot(key, kind.key_slot) if key is not None else {}
        self._host: Host | None = None
        self._transport = Transport(timeouts_of(settings))

    def send(
        self,
        method: str,
        path: str,
        *,
        query: bytes = b"",
        body: bytes | None = None,
        headers: Mapping[str, str],
        patient: bool = True,
    ) -> AbstractAsyncContextManager[Incoming]:
        """Send one request to ``path`` below the root and hand over the answer, whatever its status.

        Not ``patient``, it waits for no server that is started anew.
        Leaving the context before the body was read closes the connection, which stops generation.

        Raises:
            BackendUnreachableError: no connection, or no answer in time.
            BackendError: the backend redirects; that is never followed.
            MultipleCredentialsError: a caller's credential beside one in the backend's URL.
        """
        if self._root.user is not None and (slots := credential_slots(headers)):
            raise MultipleCredentialsError(["user info in the backend's URL", *slots])
        url = self._root.with_path(self._root.raw_path.rstrip("/") + path, encoded=True)
        if query:
            # As the caller wrote it, but for bytes that may not stand in a request line.
            url = URL(f"{url}?{quote(query, safe=_QUERY_SAFE)}", encoded=True)
        sent = {**self._defaults, **headers, **self._own}
        if self._host is None or not patient:
            return self._transport.open(method, url, headers=sent, body=body)
        return self._patiently(self._host, method, url, sent, body)

    def hosted_by(self, host: Host | None) -> None:
        """Let requests wait for ``host`` while it starts the server anew; one that its death stopped is repeated."""
        self._host = host

    @asynccontextmanager
    async def _patiently(
        self, host: Host, method: str, url: URL, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator[Incoming]:
        await host.ready()
        generation = host.generation
        try:
            answer = await self._transport.answer(method, url, headers, body)
        except BackendUnreachableError:
            if not await host.recovered(generation):
                raise
            answer = await self._transport.answer(method, url, headers, body)
        try:
            yield answer
        finally:
            answer.close()

    async def unreachable(self) -> BackendUnreachableError | None:
        """Why nothing speaks HTTP at the backend's address, or None when something does."""
        try:
            # Whoever waits for a server asks this: it must not wait itself.
            probe = self.send("GET", "/health", headers={}, patient=False)
            async with asyncio.timeout(_PROBE_SECONDS), probe as answer:
                await answer.read()
        except BackendUnreachableError as error:
            return BackendUnreachableError(self.shown_url, error.cause)
        except TimeoutError as error:
            return BackendUnreachableError(self.shown_url, error)
        except (BackendError, StreamError):
            return None
        return None

    async def oddity(self) -> str | None:
        """What speaks against a model server at the backend's address, in one sentence; None if nothing does."""
        try:
            async with (
                asyncio.timeout(_PROBE_SECONDS),
                self.send("GET", "/v1/models", headers={}) as answer,
            ):
                status, kind, body = answer.status, answer.content_type, await answer.read()
        except (ForgeError, TimeoutError):
            return None
        known = f"{self.shown_url} may be no model server, or have a path too much"
        if status in _NO_SUCH_PAGE:
            return f"{known}: it has no /v1/models (status {status})"
        if status == 200 and not body.lstrip().startswith(b"{"):
            return f"{known}: its /v1/models is no JSON object ({kind})"
        return None

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        await self._transport.aclose()


def returned_headers(answer: Incoming) -> tuple[tuple[bytes, bytes], ...]:
    """What of the backend's headers the caller gets."""
    kept = ((name, answer.headers.get(name)) for name in _RETURNED_HEADERS)
    return tuple((name.encode(), value.encode("latin-1")) for name, value in kept if value is not None)
