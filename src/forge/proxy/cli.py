"""The command line: which of the commands is meant, and an exit code from whatever comes of it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click


def _launch() -> click.Command:
    from forge.proxy.launch import command

    return command


def _init() -> click.Command:
    from forge.proxy.init_command import command

    return command


def _check() -> click.Command:
    from forge.proxy.check_command import command

    return command


_COMMANDS: Final[dict[str, Callable[[], click.Command]]] = {"init": _init, "check": _check}
"""Commands by the first word; without one of these the proxy is launched."""


def program() -> str:
    """How the user calls this program."""
    name = Path(sys.argv[0]).stem
    return name if name.startswith("forge") else "python -m forge.proxy"


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code; a wrong flag costs one line and exit code 2."""
    _secure_standard_streams()
    words = sys.argv[1:] if argv is None else argv
    name = words[0] if words and words[0] in _COMMANDS else ""
    command = _COMMANDS.get(name, _launch)()
    called = f"{program()} {name}".rstrip()
    try:
        result = command.main(args=words[1:] if name else words, prog_name=called, standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"error: {' '.join(error.format_message().split())} (see {called} --help)", err=True)
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
