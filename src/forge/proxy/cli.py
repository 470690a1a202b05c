"""The command line: flags in, a :class:`Settings` out, an exit code back."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from typing import Any

import click

from forge.proxy.limit_options import shown
from forge.proxy.option_groups import GroupedCommand, option
from forge.proxy.options import OPTIONS, settings_of
from forge.proxy.settings import Settings, SettingsError

_EXAMPLES = """
python -m forge.proxy --backend-url http://localhost:8080
python -m forge.proxy --backend-url http://localhost:8080 --backend llamaserver --port 8081
python -m forge.proxy --backend embedded
python -m forge.proxy --backend llamaserver --gguf model.gguf --extra-flags -t 8
OPENAI_BASE_URL=http://localhost:8081/v1 your-agent
"""


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from forge._version import __version__

        click.echo(__version__)
        ctx.exit()


_OTHER = (
    option(
        "Other",
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        in_profile=False,
        callback=_version,
        help="Print the version.",
    ),
)


@click.command(
    cls=GroupedCommand,
    examples=_EXAMPLES,
    params=[*OPTIONS, *_OTHER],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command(**flags: Any) -> int:
    """Serve an OpenAI-compatible API whose tool calls are checked, mended and asked for again.

    Point a client's base URL at the proxy and the proxy at a model server. Calls that the model wrote as text,
    that name an unknown tool or that break a tool's schema never reach the client as they are.
    """
    try:
        settings = settings_of(flags)
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
    message = shown(message)
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
