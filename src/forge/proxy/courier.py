"""The pass-through road: requests that nothing is guarded in, byte for byte in both directions.

Chats without tools, chats with several choices, and the backend's own metadata routes take it. Only a request's
body, its content type and at most one credential go to the backend; only the status, the content type, the body
and a ``Retry-After`` come back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping

import aiohttp
from yarl import URL

from forge.errors import BackendError, BackendUnreachableError
from forge.proxy.settings import Settings, mask_url, mount_root

_CHUNK_LIMIT = 256 * 1024
_PROBE_SECONDS = 5.0
_RETURNED_HEADERS = ("content-type", "retry-after")


class Answer:
    """A backend's answer whose body is still to be read."""

    def __init__(self, response: aiohttp.ClientResponse, url: str) -> None:
        self._response = response
        self._url = url
        self.status = response.status
        self.content_type = response.headers.get("content-type", "application/json")

    @property
    def streams(self) -> bool:
        """Whether the body is an event stream."""
        return self.content_type.startswith("text/event-stream")

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What of the backend's headers the caller gets."""
        kept = ((name, self._response.headers.get(name)) for name in _RETURNED_HEADERS)
        return tuple((name.encode(), value.encode("latin-1")) for name, value in kept if value is not None)

    def error(self, body: bytes) -> BackendError:
        """The typed error for an answer with an error status (or a redirect, which is never followed)."""
        text = body.decode("utf-8", "replace")
        error = BackendError(self.status, raw_body=text)
        error.retry_after = self._response.headers.get("retry-after")
        return error

    async def read(self) -> bytes:
        """The whole body."""
        with _mapped(self._url):
            return await self._response.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        with _mapped(self._url):
            async for chunk in self._response.content.iter_any():
                yield chunk


class Courier:
    """One connection pool to one backend. ``url`` is its mount root; only that origin ever gets a credential."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._root = mount_root(url)
        self._shown = mask_url(self._root)
        parts = URL(self._root, encoded=True)
        self._base = str(parts.with_user(None)) if parts.user is not None else self._root
        self._auth: dict[str, str] = {}
        if settings.backend_api_key is not None:
            self._auth["authorization"] = f"Bearer {settings.backend_api_key}"
        elif parts.user is not None:
            basic = aiohttp.BasicAuth(parts.user, parts.password or "")
            self._auth["authorization"] = basic.encode()
        self._timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=min(10.0, settings.backend_timeout),
            sock_read=settings.backend_timeout,
        )
        self._session: aiohttp.ClientSession | None = None

    @property
    def shown_url(self) -> str:
        """The backend's root as it may be printed."""
        return self._shown

    @contextlib.asynccontextmanager
    async def send(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Answer]:
        """Send one request to ``path`` (with query, below the root) and hand over the answer.

        Leaving the context before the body was read closes the connection, which stops generation.

        Raises:
            BackendUnreachableError: no connection, or it broke.
            TimeoutError: the backend kept silent for too long.
        """
        sent = {"accept-encoding": "identity", **(headers or {}), **self._auth}
        if body is not None:
            sent.setdefault("content-type", "application/json")
        with _mapped(self._root):
            response = await self._open().request(
                method,
                URL(self._base + path, encoded=True),
                data=body,
                headers=sent,
                allow_redirects=False,
            )
        finished = False
        try:
            yield Answer(response, self._root)
            finished = response.content.at_eof()
        finally:
            if finished:
                response.release()
            else:
                response.close()

    async def unreachable(self) -> BaseException | None:
        """Why nothing speaks HTTP at the backend's address, or None when something does."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS), self.send("GET", "/health") as answer:
                await answer.read()
        except BackendUnreachableError as error:
            return error.cause or error
        except TimeoutError as error:
            return error
        return None

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_CHUNK_LIMIT,
            )
        return self._session


@contextlib.contextmanager
def _mapped(url: str) -> Iterator[None]:
    """The network's errors as Forge's own; timeouts stay ``TimeoutError``."""
    try:
        yield
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError) as error:
        raise BackendUnreachableError(url, error) from error
