"""What the command says when it is ready: a table in a terminal, plain lines elsewhere, one JSON line for machines."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO

from forge._version import __version__
from forge.proxy.addresses import is_loopback
from forge.proxy.log_output import json_line
from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings


def announce(runtime: Runtime, out: TextIO | None = None) -> None:
    """Print where the proxy listens, what is behind it, what it guards and where to point each client."""
    out = out or sys.stdout
    first = f"forge proxy running at {runtime.url}"
    # A reader that has gone, or a full disk, is no reason not to serve.
    with contextlib.suppress(OSError):
        if runtime.settings.log_format == "json":
            out.write(json_line(summary(runtime)) + "\n")
        elif out.isatty():
            _rich(first, _facts(runtime), out)
        else:
            facts = _facts(runtime)
            width = max(len(name) for name, _ in facts)
            lines = [first, *(f"  {name:<{width}}  {value}" for name, value in facts)]
            out.write("\n".join(lines) + "\n")
        out.flush()


def summary(runtime: Runtime) -> dict[str, Any]:
    """The same for machines; ``event`` is ``started``. No key is in it."""
    settings, known = runtime.settings, runtime.capabilities
    return {
        "event": "started",
        "version": __version__,
        "pid": os.getpid(),
        "url": runtime.url,
        "backend": {"kind": settings.kind, "url": runtime.backend_url},
        "model": _model(runtime),
        "context_length": known.context_length if known else None,
        "native_tools": known.native_tools if known else None,
        "guards": {
            "max_retries": settings.max_retries,
            "max_tool_errors": settings.max_tool_errors,
            "text_policy": _text_policy(settings),
            "rescue": settings.rescue,
            "constrain": settings.constrain and (known is None or known.constrains),
            "loop_limit": settings.loop_limit,
            "workflows": len(settings.workflows),
        },
        "key_required": settings.api_key is not None,
        "clients": {"openai": f"{_reached(runtime)}/v1", "anthropic": _reached(runtime)},
        "server_log": str(runtime.server_log) if runtime.server_log is not None else None,
    }


def _facts(runtime: Runtime) -> list[tuple[str, str]]:
    settings, known = runtime.settings, runtime.capabilities
    context = f"{known.context_length:,} tokens" if known and known.context_length else "unknown"
    facts = [
        ("backend", f"{settings.kind} at {runtime.backend_url}"),
        ("model", _model(runtime) or "whatever the request names"),
        ("context", context),
        ("tools", _tools(runtime)),
        ("guards", _guards(settings, can_constrain=known is None or known.constrains)),
        *_clients(runtime),
        ("stop", "Ctrl-C"),
    ]
    if runtime.server_log is not None:
        facts.insert(1, ("server log", str(runtime.server_log)))
    return facts


def _clients(runtime: Runtime) -> list[tuple[str, str]]:
    url = _reached(runtime)
    key = "<the key for callers>" if runtime.settings.api_key else "any"
    return [
        ("OpenAI clients", f"OPENAI_BASE_URL={url}/v1  OPENAI_API_KEY={key}"),
        ("Claude Code", f"ANTHROPIC_BASE_URL={url}  ANTHROPIC_AUTH_TOKEN={key}"),
        ("Codex", f'model provider with base_url = "{url}/v1" and wire_api = "responses"'),
    ]


def _reached(runtime: Runtime) -> str:
    """The URL for a client on this machine: nobody can call an address that stands for all addresses."""
    host = runtime.settings.host
    if is_loopback(host) or host.strip("[]") not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return runtime.url
    return f"http://127.0.0.1:{runtime.url.rpartition(':')[2]}"


def _model(runtime: Runtime) -> str | None:
    settings, known = runtime.settings, runtime.capabilities
    return (
        settings.model or settings.gguf or settings.model_path or (known.model if known is not None else None)
    )


def _tools(runtime: Runtime) -> str:
    known = runtime.capabilities
    if known is None:
        return "not probed yet (the backend did not tell)"
    if runtime.settings.backend_capability == "prompt" or not known.native_tools:
        return "described in the prompt"
    return "native to the model's template"


def _text_policy(settings: Settings) -> str:
    return "respond" if settings.inject_respond_tool else settings.text_policy


def _guards(settings: Settings, *, can_constrain: bool) -> str:
    parts = [
        f"up to {settings.max_retries} corrections",
        f"text policy {_text_policy(settings)}",
        "calls in text are rescued" if settings.rescue else "no rescue of calls in text",
    ]
    if settings.constrain and can_constrain:
        parts.append("last attempt constrained to the schemas")
    elif not settings.constrain:
        parts.append("no constrained attempt")
    if settings.loop_limit:
        parts.append(f"loops are noticed after {settings.loop_limit} equal results")
    if settings.workflows:
        count = len(settings.workflows)
        parts.append(f"{count} workflow{'s' if count > 1 else ''}")
    return ", ".join(parts)


def _rich(first: str, facts: list[tuple[str, str]], out: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out)
    console.print(Text(first, style="bold green"), soft_wrap=True)
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        # Not folded: the terminal does that itself, and then what is copied from it is one piece.
        console.print(Text(f"  {name:<{width}}", style="cyan"), Text(value), soft_wrap=True)
