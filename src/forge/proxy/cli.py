"""The command line: flags in, a :class:`Settings` out, an exit code back."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from typing import Any

import click

from forge.engine.policy import TEXT_POLICIES
from forge.proxy.managed_rules import BUDGET_MODES
from forge.proxy.option_groups import REST, GroupedCommand, option
from forge.proxy.settings import BACKENDS, CAPABILITIES, Settings, SettingsError

_BACKEND = "Backend"
_MANAGED = "Backend started by Forge (no --backend-url)"
_LISTEN = "Listening"
_GUARDS = "Guards"
_OTHER = "Other"

_EXAMPLES = """
python -m forge.proxy --backend-url http://localhost:8080
python -m forge.proxy --backend-url http://localhost:8080 --backend llamaserver --port 8081
python -m forge.proxy --backend embedded
python -m forge.proxy --backend llamaserver --gguf model.gguf --extra-flags -t 8
OPENAI_BASE_URL=http://localhost:8081/v1 your-agent
"""


class _NonBlank(click.ParamType[str | None]):
    """A key or a name: blank means that it was not given."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | None:  # noqa: ARG002 - click's signature
        return str(value).strip() or None


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from forge._version import __version__

        click.echo(__version__)
        ctx.exit()


@click.command(
    cls=GroupedCommand,
    examples=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@option(
    _BACKEND, "--backend-url", metavar="URL", help="Where the model server answers; a trailing /v1 is fine."
)
@option(
    _BACKEND,
    "--backend",
    type=click.Choice(BACKENDS),
    help="Kind of model server. Default: openai (anything OpenAI-shaped). embedded starts a small one itself.",
)
@option(_BACKEND, "--model", type=_NonBlank(), metavar="NAME", help="Model for requests that name none.")
@option(_MANAGED, "--gguf", type=_NonBlank(), metavar="FILE", help="Model for llamaserver or llamafile.")
@option(_MANAGED, "--model-path", type=_NonBlank(), metavar="PATH", help="Model for vllm.")
@option(
    _MANAGED, "--backend-port", type=int, metavar="PORT", help="Its port; 0 takes a free one. Default: 8080."
)
@option(
    _MANAGED,
    "--budget-mode",
    type=click.Choice(BUDGET_MODES),
    help="Its context. backend, forge-full: what it takes by itself (default). forge-fast: half of that. "
    "manual: --budget-tokens.",
)
@option(_MANAGED, "--budget-tokens", type=int, metavar="N", help="Its context in tokens, with manual.")
@option(
    _MANAGED,
    REST,
    type=click.UNPROCESSED,
    metavar="...",
    help="Everything after it goes to the server's command line.",
)
@option(
    _BACKEND,
    "--backend-capability",
    type=click.Choice(CAPABILITIES),
    default="native",
    show_default=True,
    help="native: tools go to the server as tools. prompt: they are described in the prompt.",
)
@option(
    _BACKEND,
    "--backend-timeout",
    type=float,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Silence after which a call to the backend fails.",
)
@option(
    _BACKEND,
    "--backend-api-key",
    type=_NonBlank(),
    envvar="FORGE_BACKEND_API_KEY",
    show_envvar=True,
    metavar="KEY",
    help="Key for the backend. Other users can see a command line; better use the environment.",
)
@option(
    _BACKEND, "--wait", is_flag=True, help="Wait for a backend that does not answer yet, instead of exiting."
)
@option(_LISTEN, "--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@option(
    _LISTEN,
    "--port",
    type=int,
    default=8081,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@option(
    _LISTEN,
    "--api-key",
    type=_NonBlank(),
    envvar="FORGE_API_KEY",
    show_envvar=True,
    metavar="KEY",
    help="Key that callers must send as 'Authorization: Bearer KEY'.",
)
@option(
    _LISTEN,
    "--allow-anonymous",
    is_flag=True,
    help="Serve callers without a key although --host or --backend-api-key would demand --api-key.",
)
@option(
    _GUARDS, "--max-retries", type=int, default=3, show_default=True, help="Corrections of a failed answer."
)
@option(
    _GUARDS,
    "--max-tool-errors",
    type=int,
    default=2,
    show_default=True,
    help="Corrections of invalid arguments.",
)
@option(
    _GUARDS,
    "--text-policy",
    type=click.Choice(TEXT_POLICIES),
    default="auto",
    show_default=True,
    help="When plain text is an answer while tools are offered. auto: unless it is empty, a broken call or a bare "
    "announcement. nudge: never. respond: never, but a respond tool is offered. trust: always.",
)
@option(_GUARDS, "--inject-respond-tool", is_flag=True, help="Same as --text-policy respond.")
@option(_GUARDS, "--no-rescue", is_flag=True, help="Leave calls that the model wrote as text in the text.")
@option(
    _GUARDS, "--no-constrain", is_flag=True, help="Never constrain the last attempt to the tools' schemas."
)
@option(_OTHER, "--verbose", "-v", is_flag=True, help="Log in detail.")
@option(
    _OTHER,
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def command(**flags: Any) -> int:
    """Serve an OpenAI-compatible API whose tool calls are checked, mended and asked for again.

    Point a client's base URL at the proxy and the proxy at a model server. Calls that the model wrote as text,
    that name an unknown tool or that break a tool's schema never reach the client as they are.
    """
    flags["rescue"] = not flags.pop("no_rescue")
    flags["constrain"] = not flags.pop("no_constrain")
    settings = Settings(**flags)
    try:
        settings.check()
    except SettingsError as error:
        raise click.UsageError(_flagged(str(error))) from error
    _log_to_stderr(verbose=settings.verbose)

    # Late: --help, --version and bad flags need none of it.
    from forge.proxy.announce import announce
    from forge.proxy.lifecycle import Screen, run

    return run(settings, Screen(announce, lambda line: click.echo(line, err=True)))


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code; a wrong flag costs one line and exit code 2."""
    _secure_standard_streams()
    try:
        result = command.main(args=argv, prog_name="python -m forge.proxy", standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"error: {' '.join(error.format_message().split())} (see --help)", err=True)
        return 2
    except click.Abort:
        return 130
    except OSError as error:  # standard output: a full disk, say
        click.echo(f"error: cannot write the answer: {error.strerror or error}", err=True)
        return 1
    return int(result or 0)


def _secure_standard_streams() -> None:
    """Make standard streams that can be written to, whatever the caller left of them.

    Where one is closed (``>&-``, some supervisors), the next socket would take its number, and libuv aborts when
    that is closed again. And a name in a message must not fail for an alphabet that a terminal lacks.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the process's life
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flagged(message: str) -> str:
    """A settings error in the words of the command line: ``max_retries`` is ``--max-retries`` there."""
    for name in sorted(Settings.__dataclass_fields__, key=len, reverse=True):
        if "_" in name:
            message = message.replace(name, "--" + name.replace("_", "-"))
    return re.sub(r"\bbackend='(\w+)'", r"--backend \1", message)


def _log_to_stderr(*, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s [%(name)s] %(levelname)s: %(message)s", "%H:%M:%S"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("forge").setLevel(logging.DEBUG if verbose else logging.WARNING)
    for talkative in ("forge.proxy", "forge.serving"):  # what is served, and how far a model is loaded
        logging.getLogger(talkative).setLevel(logging.DEBUG if verbose else logging.INFO)
