"""``python -m forge.proxy init``: a profile from flags, and from questions about what they leave open."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import click

from forge.proxy.managed_rules import IDENTITY, MANAGEABLE
from forge.proxy.option_groups import GroupedCommand, given, option
from forge.proxy.options import OPTIONS, settings_of
from forge.proxy.profile import FIELDS, ProfileError, completed, render_profile
from forge.proxy.profile_store import (
    DEFAULT_PROFILE,
    ProfileExistsError,
    present_workflows,
    profile_path,
    write_profile,
)
from forge.proxy.settings import BACKENDS, LOCAL_BACKENDS, ExposureError, SettingsError, check_url
from forge.proxy.workflows import TABLES, read_workflows

_EXAMPLES: Final = """
python -m forge.proxy init
python -m forge.proxy init --profile work --backend-url http://localhost:8080 --non-interactive
python -m forge.proxy init --backend llamaserver --gguf model.gguf --port 9000 --force
"""
_OWN: Final = (
    option(
        "Profile", "--profile", default=DEFAULT_PROFILE, show_default=True, metavar="NAME", help="Its name."
    ),
    option("Profile", "--non-interactive", is_flag=True, help="Ask nothing: the flags say it all."),
    option(
        "Profile",
        "--force",
        is_flag=True,
        help="Replace a profile that says something else; the old one is kept beside it, its workflow rules in both.",
    ),
)
_RUNS, _STARTED = "unmanaged", "managed"


@click.command(
    cls=GroupedCommand,
    examples=_EXAMPLES,
    params=[*_OWN, *(each for each in OPTIONS if each.in_profile)],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def command(ctx: click.Context, /, **_: Any) -> int:
    """Write a profile: settings with a name, for 'python -m forge.proxy --profile NAME'.

    What the flags leave open is asked for, as far as it must be known. Keys are never written: name their files,
    or set FORGE_BACKEND_API_KEY and FORGE_API_KEY when the proxy is launched.
    """
    from forge.proxy.launch import flagged

    values = dict(ctx.params)
    name, quiet, force = (values.pop(key) for key in ("profile", "non_interactive", "force"))
    said = given(ctx)
    try:
        path = profile_path(name)
        chosen = {key: values[key] for key in FIELDS if key in said and values[key] is not None}
        if not quiet:
            chosen |= ask(chosen, Questions())
        # No flag says these, so only who edits the file can take them away.
        workflows = present_workflows(path)
        rules = {} if workflows is None else {TABLES: read_workflows(workflows)}
        note = fault_of(chosen | rules)
        text = render_profile(chosen, workflows)
        click.echo(text)
        written = write_profile(path, text, force=force, on_backup=_say_backup)
    except ProfileExistsError as error:
        raise click.UsageError(str(error)) from error
    except SettingsError as error:
        raise click.UsageError(flagged(str(error))) from error
    except OSError as error:
        raise click.UsageError(f"cannot write the profile {path}: {error.strerror or error}") from error
    click.echo(f"{'Wrote' if written else 'Unchanged'} profile: {path}")
    if note is not None:
        click.echo(f"Note: {note}")
    click.echo(f"Launch with: {_program()} --profile {shlex.quote(name)}")
    return 0


def _say_backup(path: Path) -> None:
    click.echo(f"Kept the old profile: {path}")


def fault_of(chosen: Mapping[str, Any]) -> str | None:
    """What must be seen to before a proxy with these settings can be launched; None if nothing.

    Raises:
        SettingsError: they can never be launched.
    """
    try:
        settings_of(completed(chosen))
    except ExposureError as error:
        return f"{error}, or set FORGE_API_KEY when you launch it"
    return None


class Questions:
    """Asks on a terminal, or reads the answers line by line from whatever standard input is.

    A terminal's user may try again; other input is taken as it is, and what cannot be is an error.
    """

    def __init__(self, source: TextIO | None = None, out: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        self._out = out or sys.stderr

    def ask(self, question: str, check: Callable[[str], Any], *, required: bool) -> Any:
        """The checked answer; None for an empty one where nothing is required.

        Raises:
            ProfileError: the input ends, or the answer is none.
        """
        while True:
            print(f"{question}: ", end="", file=self._out, flush=True)
            line = self._source.readline()
            if not line:
                raise ProfileError(f"the input ended at the question: {question}")
            answer = line.strip()
            try:
                if not answer and required:
                    raise ProfileError(f"an answer is needed: {question}")
                return check(answer) if answer else None
            except ValueError as error:
                if not self._source.isatty():
                    raise ProfileError(str(error)) from error
                print(f"  {error}", file=self._out)


def ask(known: Mapping[str, Any], questions: Questions) -> dict[str, Any]:
    """What must be known of the backend and the listener, and is not in ``known``.

    Raises:
        ProfileError: a question was not answered.
    """
    found: dict[str, Any] = {}
    url, kind = known.get("backend_url"), known.get("backend")
    if url is None and kind is None:
        question = f"Is the model server one that runs ({_RUNS}), or is Forge to start it ({_STARTED})?"
        runs = questions.ask(question, _one_of((_RUNS, _STARTED)), required=True) == _RUNS
    else:
        runs = url is not None or kind not in MANAGEABLE | LOCAL_BACKENDS
    if runs:
        found |= _ask_running(url, kind, questions)
    else:
        found |= _ask_started(known, questions)
    if "host" not in known:
        found["host"] = questions.ask("Address to listen on (Enter: 127.0.0.1)", str, required=False)
    if "port" not in known:
        found["port"] = questions.ask("Port to listen on (Enter: 8081)", _port, required=False)
    return {name: value for name, value in found.items() if value is not None}


def _ask_running(url: str | None, kind: str | None, questions: Questions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if url is None:
        found["backend_url"] = questions.ask("Its URL, like http://localhost:8080", _url, required=True)
    if kind is None:
        kinds = tuple(each for each in BACKENDS if each not in LOCAL_BACKENDS)
        question = f"Its kind: {', '.join(kinds)} (Enter: anything that speaks OpenAI's protocol)"
        found["backend"] = questions.ask(question, _one_of(kinds), required=False)
    return found


def _ask_started(known: Mapping[str, Any], questions: Questions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    kind = known.get("backend")
    if kind is None:
        kinds = tuple(each for each in BACKENDS if each in MANAGEABLE | LOCAL_BACKENDS)
        kind = questions.ask(f"Its kind: {', '.join(kinds)}", _one_of(kinds), required=True)
        found["backend"] = kind
    identity = IDENTITY.get(kind)
    if identity is not None and known.get(identity) is None:
        what = {"gguf": "Its model file (GGUF)", "model_path": "Its model", "model": "Its model's name"}
        found[identity] = questions.ask(what[identity], str, required=True)
    return found


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def check(answer: str) -> str:
        if answer not in words:
            raise ProfileError(f"{answer!r} is none of: {', '.join(words)}")
        return answer

    return check


def _port(answer: str) -> int:
    if not (answer.isascii() and answer.isdigit() and int(answer) <= 65535):
        raise ProfileError(f"{answer!r} is not a port; they go from 0 to 65535")
    return int(answer)


def _url(answer: str) -> str:
    check_url(answer)
    return answer


def _program() -> str:
    from forge.proxy.cli import program

    return program()
