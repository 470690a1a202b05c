"""What a proxy is told at start: one frozen value, checked before anything is opened.

The command line and :class:`forge.proxy.ProxyServer` both build a :class:`Settings`; everything below them
reads it and nothing else, so that a setting has one name and one default.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from forge.core.reasoning import REASONING_REPLAY_CHOICES, ReasoningReplay
from forge.engine.policy import TEXT_POLICIES, TextPolicy
from forge.engine.workflow_rules import WorkflowRules
from forge.proxy.addresses import is_host_name, is_loopback, is_origin, url_fault, with_port
from forge.proxy.limits import Limits
from forge.proxy.log_output import LOG_FORMATS, LOG_LEVELS
from forge.proxy.managed_rules import MANAGEABLE, managed_fault

CAPABILITIES = ("native", "prompt")
BACKENDS = ("llamaserver", "llamafile", "ollama", "vllm", "openai", "anthropic", "embedded")
PROMPTABLE = frozenset({"llamaserver", "llamafile", "openai", "embedded"})
"""Backends that can be told to have tools described in the prompt; the others find out by themselves."""
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not bound
LOCAL_BACKENDS = frozenset({"embedded"})
"""Backends that Forge starts itself; they take no URL."""


class SettingsError(ValueError):
    """The settings contradict each other or one is out of range; the message says which."""


class ExposureError(SettingsError):
    """All is right but for a missing key for callers. It may come from the environment, so it is told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one proxy runs: one backend, one listener, one policy.

    ``serialize`` lets one request at a time reach the backend, ``max_concurrent`` that many.
    Without ``backend_url`` Forge starts the server (or attaches to Ollama): ``gguf``, ``model_path`` and what follows
    describe it. ``api_key`` is what callers must present; ``backend_api_key`` is what Forge presents to the backend. Neither
    appears in ``repr``.
    """

    backend_url: str | None = None
    backend: str | None = None
    model: str | None = None
    gguf: str | None = None
    model_path: str | None = None
    backend_port: int | None = None
    budget_mode: str | None = None
    budget_tokens: int | None = None
    extra_flags: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8081
    workers: int = 1
    serialize: bool | None = None
    max_concurrent: int | None = None
    max_retries: int = 3
    max_tool_errors: int = 2
    text_policy: TextPolicy = "auto"
    inject_respond_tool: bool = False
    rescue: bool = True
    constrain: bool = True
    reasoning_replay: ReasoningReplay = "full"
    loop_limit: int = 3
    workflows: tuple[WorkflowRules, ...] = ()
    backend_capability: str = "native"
    backend_timeout: float = 300.0
    backend_api_key: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    allow_anonymous: bool = False
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    wait: bool = False
    verbose: bool = False
    log_format: str = "text"
    log_level: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def kind(self) -> str:
        """The backend's kind; a URL without one means any OpenAI-shaped server."""
        return self.backend or "openai"

    @property
    def level(self) -> str:
        """From which level on the log is written."""
        return self.log_level or ("debug" if self.verbose else "info")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown: the keys, and a password in the backend's URL."""
        password = urlsplit(self.backend_url).password if self.backend_url is not None else None
        known = (self.api_key, self.backend_api_key, password, unquote(password or ""))
        return tuple(secret for secret in known if secret)

    @property
    def embedded(self) -> bool:
        """Whether Forge starts the model server itself."""
        return self.kind in LOCAL_BACKENDS

    @property
    def managed(self) -> bool:
        """Whether Forge starts the backend's own server, or attaches to Ollama."""
        return self.backend_url is None and self.kind in MANAGEABLE

    @property
    def at_once(self) -> int | None:
        """Requests that the backend gets at once; None for any number.

        A server that Forge starts has one slot unless told otherwise, so requests for it wait here, where that is fair and
        bounded; unless there are several workers, each of which has a queue of its own.
        """
        if self.max_concurrent is not None:
            return self.max_concurrent
        if self.serialize is None:
            return 1 if self.starts_backend and self.workers == 1 else None
        return 1 if self.serialize else None

    @property
    def starts_backend(self) -> bool:
        """Whether Forge brings the model server up."""
        return self.managed or self.embedded

    def check(self) -> None:
        """Reject what cannot run. Pure: nothing is opened, resolved or read.

        Raises:
            SettingsError: with one sentence that names the setting at fault.
        """
        self._check_backend()
        fault = managed_fault(self)
        if fault is not None:
            raise SettingsError(fault)
        self._check_numbers()
        self._check_concurrency()
        self._check_choices()
        self._check_keys()
        self._check_exposure()

    def _is_own_address(self) -> bool:
        if self.backend_url is None or self.port == 0:
            return False
        parts = urlsplit(with_port(self.backend_url, self.backend_port))
        port = parts.port or (443 if parts.scheme == "https" else 80)
        here = is_loopback(self.host) or self.host in _EVERYWHERE
        there = is_loopback(parts.hostname or "") or parts.hostname in _EVERYWHERE
        return port == self.port and ((here and there) or parts.hostname == self.host)

    def _check_backend(self) -> None:
        if self.backend is not None and self.backend not in BACKENDS:
            raise SettingsError(f"unsupported backend: {self.backend!r} (choose from {', '.join(BACKENDS)})")
        if self.embedded:
            if self.backend_url is not None:
                raise SettingsError("backend='embedded' starts its own server and takes no backend_url")
            return
        if self.managed:
            return
        if self.backend_url is None:
            if self.backend is not None:
                raise SettingsError(f"backend={self.backend!r} requires backend_url")
            raise SettingsError("Provide either backend_url (a server that runs) or backend (one to start)")
        check_url(self.backend_url)

    def _check_numbers(self) -> None:
        if self.max_retries < 0:
            raise SettingsError("max_retries must be nonnegative")
        if self.max_tool_errors < 0:
            raise SettingsError("max_tool_errors must be nonnegative")
        if self.loop_limit < 0:
            raise SettingsError("loop_limit must be nonnegative")
        if not math.isfinite(self.backend_timeout) or self.backend_timeout <= 0:
            raise SettingsError("backend_timeout must be a finite value greater than 0")
        if not 0 <= self.port <= 65535:
            raise SettingsError("port must be between 0 and 65535")
        if (fault := self.limits.fault()) is not None:
            raise SettingsError(fault)

    def _check_concurrency(self) -> None:
        if self.workers < 1:
            raise SettingsError("workers must be at least 1")
        if self.workers > 1 and sys.platform == "win32":
            raise SettingsError("workers above 1 need an operating system that hands sockets on to processes")
        if self.workers > 1 and self.serialize:
            raise SettingsError("serialize contradicts workers above 1: each has a queue of its own")
        if self.max_concurrent is None:
            return
        if self.max_concurrent < 1:
            raise SettingsError("max_concurrent must be at least 1")
        if self.serialize and self.max_concurrent > 1:
            raise SettingsError("serialize contradicts max_concurrent above 1")

    def _check_choices(self) -> None:
        if self.backend_capability not in CAPABILITIES:
            raise SettingsError(f"backend_capability must be one of: {', '.join(CAPABILITIES)}")
        if self.backend_capability == "prompt" and self.kind not in PROMPTABLE:
            raise SettingsError(
                f"backend_capability='prompt' is only supported for llama-shaped backends, not for backend={self.kind!r}"
            )
        if self.log_format not in LOG_FORMATS:
            raise SettingsError(f"log_format must be one of: {', '.join(LOG_FORMATS)}")
        if self.log_level not in {None, *LOG_LEVELS}:
            raise SettingsError(f"log_level must be one of: {', '.join(LOG_LEVELS)}")
        if self.text_policy not in TEXT_POLICIES:
            raise SettingsError(f"text_policy must be one of: {', '.join(TEXT_POLICIES)}")
        if self.reasoning_replay not in REASONING_REPLAY_CHOICES:
            raise SettingsError(f"reasoning_replay must be one of: {', '.join(REASONING_REPLAY_CHOICES)}")
        if self.inject_respond_tool and self.text_policy in {"nudge", "trust"}:
            raise SettingsError(f"inject_respond_tool contradicts text_policy={self.text_policy!r}")

    def _check_keys(self) -> None:
        for name, key in (("api_key", self.api_key), ("backend_api_key", self.backend_api_key)):
            if key is not None and not key.isprintable():
                raise SettingsError(f"{name} has a character that cannot stand in an HTTP header")

    def _check_exposure(self) -> None:
        if not self.host:
            raise SettingsError("host is empty; for every address of this machine it is 0.0.0.0 or ::")
        for name in self.allowed_hosts:
            if not is_host_name(name):
                raise SettingsError(f"allowed_hosts needs names without scheme and port, not {name!r}")
        for origin in self.cors_origins:
            if origin != "*" and not is_origin(origin):
                raise SettingsError(f"cors_origins needs an origin like https://example.com, not {origin!r}")
        if self._is_own_address():
            raise SettingsError("backend_url is the address that the proxy itself listens on")
        # A key of the operator's, or a door to other machines, is not left open by accident.
        if self.api_key is not None or self.allow_anonymous:
            return
        if not is_loopback(self.host):
            raise ExposureError(
                f"host {self.host} can be reached from other machines: set an api_key for callers, or allow_anonymous"
            )
        if self.backend_api_key is not None:
            raise ExposureError(
                "backend_api_key would be spent by anyone who can reach the port: set an api_key for callers, or allow_anonymous"
            )


def check_url(url: str) -> None:
    """Raise :class:`SettingsError` unless ``url`` is an absolute http(s) URL with a host and a valid port."""
    fault = url_fault(url)
    if fault is not None:
        raise SettingsError(f"backend_url {fault}")
