"""``GET /forge/usage``: how full the context of the conversation is that was served last.

Status lines of coding agents show it. Only the last request counts, and only when it was delivered to its end; agents
that work for another one do not, since nobody looks at their context.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from forge.clients.anthropic import AnthropicClient
from forge.clients.backend import Backend
from forge.core.request import Request
from forge.errors import ForgeError
from forge.proxy.backends import KINDS
from forge.proxy.report import Report
from forge.proxy.settings import Settings

_log = logging.getLogger("forge.proxy")
_SESSION: Final = b"x-claude-code-session-id"
_OF_ANOTHER_AGENT: Final = frozenset({b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id"})
_SAY_THEIR_WINDOW: Final = frozenset({"llamaserver", "llamafile", "vllm"})


class _Served(Struct, frozen=True):
    """What is published of one request; written out when somebody asks, since few ever do."""

    tokens: int
    window: int
    window_source: str
    model: str
    at: float
    session: dict[str, Any] | None

    def document(self) -> dict[str, Any]:
        observed = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="microseconds")
        document = {
            "current_usage_tokens": self.tokens,
            "context_window_tokens": self.window,
            "usage_percent": self.tokens / self.window * 100,
            "model": self.model,
            "context_window_source": self.window_source,
            "observed_at": observed.replace("+00:00", "Z"),
        }
        return document if self.session is None else {**document, "session": self.session}


class UsageBoard:
    """What was last served by one proxy.

    ``managed_window``: tokens that a request to the server that Forge started may have, where that is known.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._names_its_model = KINDS[settings.kind].names_its_model
        # To the Messages API the configured model goes, whichever one a request names.
        self._pinned = settings.model if settings.kind == "anthropic" else None
        self._is_started = settings.managed or settings.embedded
        self.managed_window: int | None = None
        self._last: _Served | None = None
        self._window_of: tuple[str, int] | None = None

    @property
    def snapshot(self) -> bytes | None:
        """The last snapshot as JSON, None while there is none."""
        return msgspec.json.encode(self._last.document()) if self._last is not None else None

    async def note(
        self,
        report: Report,
        request: Request,
        headers: Iterable[tuple[bytes, bytes]],
        backend: Backend,
    ) -> None:
        """Publish what a request that is over took, if it counts. Never raises for a backend that fails."""
        if not report.delivered or report.failure is not None or not 200 <= report.status < 300:
            return
        named = dict(headers)
        if any(named.get(name, b"").strip() for name in _OF_ANOTHER_AGENT & named.keys()):
            return
        session = named.get(_SESSION, b"").strip()
        usage = report.last_usage
        model = self._model(report) or "default"
        window = None
        if usage is not None and usage.prompt_tokens > 0:
            window = await self._window(model, backend)
        if usage is None or window is None:
            self._last = None
            return
        self._last = _Served(usage.prompt_tokens, *window, model, time.time(), _session(session, request))

    def _model(self, report: Report) -> str | None:
        """The model that answered, whatever the caller called it."""
        if self._names_its_model:
            return report.answered_model or report.model
        return self._pinned or report.served_model

    async def _window(self, model: str, backend: Backend) -> tuple[int, str] | None:
        settings = self._settings
        if self._is_started:
            return (self.managed_window, "managed_backend") if self.managed_window else None
        if settings.budget_tokens:
            return settings.budget_tokens, "operator_config"
        if self._window_of is None or self._window_of[0] != model:
            try:
                found = await _told(settings, backend)
            except (ForgeError, TimeoutError) as error:
                _log.debug("the backend does not say how long its context is: %s", error)
                found = None
            self._window_of = (model, found) if found else None
        return (self._window_of[1], "backend_metadata") if self._window_of is not None else None


async def _told(settings: Settings, backend: Backend) -> int | None:
    """The window as the backend itself has it."""
    if settings.kind in _SAY_THEIR_WINDOW:
        return (await backend.capabilities()).context_length
    if isinstance(backend, AnthropicClient) and _is_official(settings.backend_url or ""):
        return await backend.get_context_length()
    return None


def _is_official(url: str) -> bool:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        return False
    return (
        (parts.scheme, parts.hostname, parts.username) == ("https", "api.anthropic.com", None)
        and port in (None, 443)
        and parts.path in ("", "/")
        and not parts.query
    )


def _session(named: bytes, request: Request) -> dict[str, Any] | None:
    if named:
        return {"id": named.decode("latin-1"), "source": "claude_code"}
    raw = request.options.get("litellm_session_id")
    try:
        value = msgspec.json.decode(raw) if raw is not None else None
    except msgspec.DecodeError:
        return None
    return {"id": value, "source": "litellm"} if isinstance(value, str) and value.strip() else None
