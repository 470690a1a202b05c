"""What the command says when it is ready: a table in a terminal, plain lines everywhere else."""

from __future__ import annotations

import contextlib
import sys
from typing import TextIO

from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings


def announce(runtime: Runtime, out: TextIO | None = None) -> None:
    """Print where the proxy listens, what is behind it, what it guards and how to use it."""
    out = out or sys.stdout
    first = f"forge proxy running at {runtime.url}"
    facts = _facts(runtime)
    # A reader that has gone, or a full disk, is no reason not to serve.
    with contextlib.suppress(OSError):
        if out.isatty():
            _rich(first, facts, out)
        else:
            width = max(len(name) for name, _ in facts)
            lines = [first, *(f"  {name:<{width}}  {value}" for name, value in facts)]
            out.write("\n".join(lines) + "\n")
        out.flush()


def _facts(runtime: Runtime) -> list[tuple[str, str]]:
    settings, known = runtime.settings, runtime.capabilities
    model = (
        settings.model
        or settings.gguf
        or settings.model_path
        or (known.model if known else None)
        or "whatever the request names"
    )
    context = f"{known.context_length:,} tokens" if known and known.context_length else "unknown"
    facts = [
        ("backend", f"{settings.kind} at {runtime.backend_url}"),
        ("model", model),
        ("context", context),
        ("tools", _tools(runtime)),
        ("guards", _guards(settings, can_constrain=known is None or known.constrains)),
        ("clients", f"set the OpenAI base URL to {runtime.url}/v1"),
        (
            "example",
            f'OpenAI(base_url="{runtime.url}/v1", api_key="{"<your key>" if settings.api_key else "none"}")',
        ),
        ("stop", "Ctrl-C"),
    ]
    if runtime.server_log is not None:
        facts.insert(1, ("server log", str(runtime.server_log)))
    return facts


def _tools(runtime: Runtime) -> str:
    known = runtime.capabilities
    if known is None:
        return "not probed yet (the backend did not tell)"
    if runtime.settings.backend_capability == "prompt" or not known.native_tools:
        return "described in the prompt"
    return "native to the model's template"


def _guards(settings: Settings, *, can_constrain: bool) -> str:
    parts = [
        f"up to {settings.max_retries} corrections",
        f"text policy {'respond' if settings.inject_respond_tool else settings.text_policy}",
        "calls in text are rescued" if settings.rescue else "no rescue of calls in text",
    ]
    if settings.constrain and can_constrain:
        parts.append("last attempt constrained to the schemas")
    elif not settings.constrain:
        parts.append("no constrained attempt")
    return ", ".join(parts)


def _rich(first: str, facts: list[tuple[str, str]], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    console.print(Text(first, style="bold green"))
    console.print(table)
