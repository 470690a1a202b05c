"""``python -m forge.proxy check``: is everything right, and with ``--live``, what can the backend do."""

from __future__ import annotations

import http.client
import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from forge._version import __version__
from forge.proxy.check_report import Finding, passed, show
from forge.proxy.init_command import fault_of
from forge.proxy.launch import SOURCE_OPTIONS, chosen_settings
from forge.proxy.option_groups import GroupedCommand, given, option
from forge.proxy.options import OPTIONS
from forge.proxy.profile_store import load_profile, profile_path, profile_paths, profile_root
from forge.proxy.settings import SettingsError

_EXAMPLES: Final = """
python -m forge.proxy check
python -m forge.proxy check --live --backend-url http://localhost:8080
python -m forge.proxy check --live --profile work --json
"""
_OWN: Final = (
    option(
        "Check",
        "--live",
        is_flag=True,
        help="Ask the backend itself: is it there, which model, how long a context, does it call a tool, does it "
        "stream. That costs it two short answers.",
    ),
    option("Check", "--json", "as_json", is_flag=True, help="Print the findings as one JSON object."),
)
_MODULES: Final = (
    "aiohttp",
    "starlette",
    "uvicorn",
    "httptools",
    "msgspec",
    "forge.proxy.runtime",
    "forge.engine",
)
_HEALTH_SECONDS: Final = 10.0


@click.command(
    cls=GroupedCommand,
    examples=_EXAMPLES,
    params=[*_OWN, *SOURCE_OPTIONS, *OPTIONS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def command(ctx: click.Context, /, **_: Any) -> int:
    """Look at the installation, at every profile, and whether a proxy can listen here; nothing leaves this machine.

    With --live the backend of a profile or of flags is asked what it can do. Exit code 0: all is right, or Forge makes
    up for it. 1: something will not work. 2: wrong flags.
    """
    live, as_json = ctx.params.pop("live"), ctx.params.pop("as_json")
    findings = list(_live(ctx) if live else _offline(ctx))
    show(findings, sys.stdout, as_json=as_json)
    return 0 if passed(findings) else 1


def _live(ctx: click.Context) -> Iterator[Finding]:
    settings = chosen_settings(ctx, serves=False)
    from forge.proxy.live_check import examine

    yield from examine(settings)


def _offline(ctx: click.Context) -> Iterator[Finding]:
    alone = {"profile", "config", "live", "as_json"}
    needs_live = given(ctx) - alone
    if needs_live:
        raise click.UsageError("settings on the command line are only looked at with --live")
    profile, config = ctx.params["profile"], ctx.params["config"]
    if profile is not None and config is not None:
        raise click.UsageError("--profile and --config cannot be combined")
    try:
        named = (
            Path(config).expanduser()
            if config is not None
            else profile_path(profile)
            if profile is not None
            else None
        )
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    yield runtime_finding()
    yield from (profile_finding(path) for path in ([named] if named is not None else profile_paths()))
    if named is None and not profile_paths():
        where = profile_root()
        yield Finding(
            "profiles", "error", f"there is none in {where}; write one with 'init', or use flags alone"
        )
    yield health_finding()


def runtime_finding() -> Finding:
    """Whether all parts can be imported, and are of one version."""
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken installation fails in any way
            return Finding("runtime", "error", f"{name} cannot be imported: {error}")
    try:
        installed = importlib.metadata.version("forge-guardrails")
    except importlib.metadata.PackageNotFoundError:
        installed = __version__  # run from a source tree
    if installed != __version__:
        return Finding(
            "runtime", "error", f"the package is {installed}, its code {__version__}: install it again"
        )
    return Finding("runtime", "ok", f"forge {__version__} on Python {sys.version.split()[0]}")


def profile_finding(path: Path) -> Finding:
    """Whether a proxy can be launched with the profile at ``path``. Its backend is not looked for."""
    about = f"profile {path.stem}"
    try:
        note = fault_of(load_profile(path))
    except SettingsError as error:
        return Finding(about, "error", str(error))
    return Finding(about, "ok", f"{path}" + (f" ({note})" if note else ""))


def health_finding() -> Finding:
    """Whether a proxy that listens on a free port of this machine answers."""
    from forge.proxy.proxy import ProxyServer

    try:
        # The discard port: nothing of a backend is needed.
        with ProxyServer(backend_url="http://127.0.0.1:9", port=0) as proxy:
            port = int(proxy.url.rpartition(":")[2])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_HEALTH_SECONDS)
            try:
                connection.request("GET", "/forge/health")
                status = connection.getresponse().status
            finally:
                connection.close()
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        return Finding("listener", "error", f"a proxy on 127.0.0.1 does not answer: {error}")
    if status != 200:
        return Finding("listener", "error", f"a proxy on 127.0.0.1 answers with status {status}")
    return Finding("listener", "ok", "a proxy started for this check on 127.0.0.1 answers")
