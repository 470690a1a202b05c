"""The outermost layer: what is decided from a request's head alone, before any route sees it."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from forge.errors import ForgeError
from forge.proxy.body import Receive, Scope, Send
from forge.proxy.error_response import Failure, HttpError, describe
from forge.proxy.origin import RawHeaders, admit, caller_credentials, check_origin
from forge.proxy.settings import Settings
from forge.proxy.stream import send_failure

_log = logging.getLogger("forge.proxy")

ErrorBody: TypeAlias = Callable[[str, Failure], bytes]
"""From a path and a failure to an error body in the protocol of that path."""
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
OPEN_PATHS = frozenset({"/", "/forge/health", "/forge/ready", "/openapi.json"})
"""Paths that need no key, so that supervisors and clients can ask whether the proxy lives."""

_SINGLE = frozenset({b"host", b"origin", b"content-type", b"content-encoding"})
"""Headers of which two would mean two things."""
_PSEUDONYM = re.compile("1\\.1 forge-[0-9a-f]{16}")
_MOST_PROXIES = 8


class Head(Struct, frozen=True):
    """What the routes need of a request's head.

    ``credentials`` is what the backend may get: the caller's, and the ``Via`` of this proxy. ``caller`` tells callers apart:
    their address, and their own key where they have one.
    ``anthropic`` holds the headers by which a caller chooses a version and previews of Anthropic's API.
    """

    credentials: dict[str, str]
    content_length: bytes | None
    caller: str = ""
    anthropic: Mapping[str, str] = {}


class Gate:
    """Checks ``Host``, ``Origin`` and the caller's key; leaves a :class:`Head` in ``scope["forge.head"]``.

    ``endpoints`` are the doors by path: a POST to one of them needs no router behind the gate.
    """

    def __init__(
        self, app: App, settings: Settings, error_body: ErrorBody, endpoints: Mapping[str, App]
    ) -> None:
        self._app = app
        self._endpoints = endpoints
        self._error_body = error_body
        self._settings = settings
        self._via = f"1.1 forge-{secrets.token_hex(8)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit or answer one request; other ASGI events pass."""
        app = self._app
        if scope["type"] == "http":
            try:
                scope["forge.head"] = self._admit(scope)
            except ForgeError as error:
                failure = describe(error)
                _log.warning("refused %d %r: %r", failure.status, scope["path"], failure.message)
                await send_failure(send, failure, self._error_body(scope["path"], failure))
                return
            if scope["method"] == "POST":
                app = self._endpoints.get(scope["path"], app)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        await app(scope, receive, send)

    def _admit(self, scope: Scope) -> Head:
        headers = scope["headers"]
        named = dict(headers)
        host = named.get(b"host")
        if host is None and scope.get("http_version") == "1.1":
            raise HttpError(400, "the request has no Host header", param="Host")
        if len(named) != len(headers):
            _refuse_repeated(headers)
        check_origin(self._settings, host, named.get(b"origin"))
        encoding = named.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            raise HttpError(415, "compressed request bodies are not supported", param="Content-Encoding")
        if scope["path"] in OPEN_PATHS:
            return Head({}, None)
        found = caller_credentials(headers) if b"authorization" in named or b"x-api-key" in named else {}
        admitted = admit(self._settings, found)
        chosen = _chosen(headers) if b"anthropic-version" in named or b"anthropic-beta" in named else {}
        caller = _caller(scope, admitted)
        via = named.get(b"via", b"")
        if via and len(named) != len(headers):
            via = b",".join(value for name, value in headers if name == b"via")
        admitted["Via"] = self._forwarded_by(via)
        return Head(admitted, named.get(b"content-length"), caller, chosen)

    def _forwarded_by(self, via: bytes) -> str:
        """The ``Via`` header for the backend, by which a proxy finds out that it is its own backend.

        Raises:
            HttpError: 508, this request came from here.
        """
        if not via:
            return self._via
        before = [entry.strip() for entry in via.decode("latin-1").split(",")]
        ours = [entry for entry in before if _PSEUDONYM.fullmatch(entry)]
        if self._via in ours or len(ours) >= _MOST_PROXIES:
            raise HttpError(508, "the backend leads back to this proxy: check --backend-url", code="loop")
        return ", ".join((*ours, self._via))


def _refuse_repeated(headers: RawHeaders) -> None:
    names = [name for name, _ in headers if name in _SINGLE]
    for name in set(names):
        if names.count(name) > 1:
            shown = name.decode("ascii").title()
            raise HttpError(400, f"the request has more than one {shown} header", param=shown)


def _caller(scope: Scope, credentials: Mapping[str, str]) -> str:
    client = scope.get("client")
    return " ".join((*credentials.values(), client[0] if client else ""))


def _chosen(headers: RawHeaders) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        if name in (b"anthropic-version", b"anthropic-beta"):
            key, text = name.decode(), value.decode("latin-1")
            found[key] = f"{found[key]},{text}" if key in found else text
    return found
