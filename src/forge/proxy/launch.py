"""``python -m forge.proxy``: from flags or a profile to a running proxy."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from forge.proxy.log_output import set_up_logging
from forge.proxy.option_groups import GroupedCommand, given, option
from forge.proxy.options import LOG_NAMES, OPTIONS, settings_of
from forge.proxy.profile import completed
from forge.proxy.profile_store import DEFAULT_PROFILE, ProfileMissingError, load_profile, profile_path
from forge.proxy.settings import Settings, SettingsError

_COMMANDS: Final = """
init   write a profile, by questions or from flags
check  look whether everything is right; with --live, what the backend can do
"""
_EXAMPLES: Final = """
python -m forge.proxy --backend-url http://localhost:8080
python -m forge.proxy --backend-url http://localhost:8080 --backend llamaserver --port 8081
python -m forge.proxy --backend embedded
python -m forge.proxy --backend llamaserver --gguf model.gguf --extra-flags -t 8
python -m forge.proxy --profile work
OPENAI_BASE_URL=http://localhost:8081/v1 your-agent
"""


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from forge._version import __version__

        click.echo(__version__)
        ctx.exit()


SOURCE_OPTIONS: Final = (
    option(
        "Profiles",
        "--profile",
        metavar="NAME",
        in_profile=False,
        help="Take all settings from the profile that 'init --profile NAME' wrote. Without any setting on the "
        "command line the profile 'default' is taken.",
    ),
    option(
        "Profiles",
        "--config",
        metavar="PATH",
        in_profile=False,
        help="Take all settings from this file, written like a profile.",
    ),
)
_VERSION: Final = option(
    "Other",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    in_profile=False,
    callback=_version,
    help="Print the version.",
)


@click.command(
    cls=GroupedCommand,
    commands=_COMMANDS,
    examples=_EXAMPLES,
    params=[*OPTIONS, *SOURCE_OPTIONS, _VERSION],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def command(ctx: click.Context, /, **_: Any) -> int:
    """Serve an API for models whose tool calls are checked, mended and asked for again.

    Point a client's base URL at the proxy and the proxy at a model server. Calls that the model wrote as text,
    that name an unknown tool or that break a tool's schema never reach the client as they are.
    """
    settings = chosen_settings(ctx)
    set_up_logging(settings.log_format, settings.level, settings.secrets)

    # Late: --help, --version and bad flags need none of it.
    from forge.proxy.announce import announce
    from forge.proxy.lifecycle import Screen, run

    log = logging.getLogger("forge.proxy")
    if settings.log_format == "json":  # every line that is written is JSON then
        return run(settings, Screen(announce, log.info, log.error))

    def say(line: str) -> None:
        click.echo(line, err=True)

    return run(settings, Screen(announce, say, lambda line: say(f"error: {line}")))


def chosen_settings(ctx: click.Context, *, serves: bool = True) -> Settings:
    """The settings that the command line describes, or those of the profile that it names.

    Where nothing is to be served (``serves``), no key for callers is missing.

    Raises:
        click.UsageError: they cannot be, or the profile cannot be read; one sentence.
    """
    values = dict(ctx.params)
    profile, config = values.pop("profile"), values.pop("config")
    said = given(ctx)
    quiet = {} if serves else {"allow_anonymous": True}
    configuration = said & {str(each.name) for each in OPTIONS} - LOG_NAMES
    if profile is not None and config is not None:
        raise click.UsageError("--profile and --config cannot be combined")
    if profile is None and config is None and configuration:
        # A proxy that runs on the default port is a backend like any other to whoever does not listen.
        unheard = {} if serves or "port" in said else {"port": 0}
        return _from_flags(values | quiet | unheard, said)
    if configuration:
        chosen = "--profile" if profile is not None else "--config"
        flags = ", ".join(sorted(_flag(name) for name in configuration))
        raise click.UsageError(f"{chosen} cannot be combined with configuration flags: {flags}")
    beside = {name: values[name] for name in said & LOG_NAMES} | quiet
    try:
        path = Path(config).expanduser() if config is not None else profile_path(profile or DEFAULT_PROFILE)
        return _from_file(path, beside)
    except ProfileMissingError as error:
        if profile is None and config is None:
            raise click.UsageError(_nothing_to_serve(error)) from error
        raise click.UsageError(str(error)) from error
    except SettingsError as error:
        raise click.UsageError(str(error)) from error


def _from_flags(values: dict[str, Any], said: frozenset[str]) -> Settings:
    for name in ("api_key", "backend_api_key"):
        if {name, f"{name}_file"} <= said:
            raise click.UsageError(f"{_flag(name)} and {_flag(name)}-file cannot be combined")
    try:
        return settings_of(values)
    except SettingsError as error:
        raise click.UsageError(flagged(str(error))) from error


def _from_file(path: Path, more: Mapping[str, Any]) -> Settings:
    values = completed({**load_profile(path), **more})
    try:
        return settings_of(values)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _nothing_to_serve(error: Exception) -> str:
    from forge.proxy.cli import program

    return (
        f"nothing to serve: {error}. Write one with '{program()} init', or say where a model server answers with "
        "--backend-url URL, or try '--backend embedded'"
    )


def _flag(name: str) -> str:
    return next(each.opts[0] for each in OPTIONS if each.name == name)


def flagged(message: str) -> str:
    """A settings error in the words of the command line: ``max_retries`` is ``--max-retries`` there."""
    flags = {str(each.name): each.opts[0] for each in OPTIONS}
    for name in sorted(flags, key=len, reverse=True):
        if "_" in name:
            message = message.replace(name, flags[name])
    message = re.sub(r"\b(requires|use|accept|or) (gguf|backend)\b(?!=)", r"\1 --\2", message)
    return re.sub(r"\bbackend='(\w+)'", r"--backend \1", message)
