"""The registry of the command's settings: each option once, with its place in the help, its default and its type.

The launch command, ``init`` and ``check`` take them from here, profiles take their keys from their names
(:mod:`forge.proxy.profile`), and the table of flags in ``docs/proxy.md`` is compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from forge.proxy.backend_options import BACKEND_OPTIONS
from forge.proxy.guard_options import GUARD_OPTIONS
from forge.proxy.key_files import read_key
from forge.proxy.limit_options import LIMIT_OPTIONS, by_option, limits_of, of_the_queue
from forge.proxy.listen_options import LISTEN_OPTIONS
from forge.proxy.log_output import LOG_FORMATS, LOG_LEVELS
from forge.proxy.option_groups import GroupedOption, option
from forge.proxy.settings import Settings, SettingsError
from forge.proxy.workflows import TABLES, load_workflows

LOG_OPTIONS: Final[tuple[GroupedOption, ...]] = (
    option("Log", "--verbose", "-v", is_flag=True, help="Same as --log-level debug."),
    option(
        "Log",
        "--log-level",
        type=click.Choice(LOG_LEVELS),
        help="How much goes to the log (standard error). info, the default: one line for each request.",
    ),
    option(
        "Log",
        "--log-format",
        type=click.Choice(LOG_FORMATS),
        default="text",
        show_default=True,
        help="json: one JSON object a line, also what is printed at the start.",
    ),
)
LOG_NAMES: Final = frozenset(str(each.name) for each in LOG_OPTIONS)
"""Settings of the log are no configuration: they may stand beside a profile, and choose nothing by themselves."""
OPTIONS: Final[tuple[GroupedOption, ...]] = (
    *BACKEND_OPTIONS,
    *LISTEN_OPTIONS,
    *GUARD_OPTIONS,
    *LIMIT_OPTIONS,
    *LOG_OPTIONS,
)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings that ``values`` (by the options' parameter names, all of them) describe, checked.

    Raises:
        SettingsError: they contradict each other, one is out of range, or a file they name cannot be read.
    """
    fields = {str(each.name): values[str(each.name)] for each in OPTIONS}
    for name in ("backend_api_key", "api_key"):
        path = fields.pop(f"{name}_file")
        if path is not None:
            fields[name] = read_key(Path(path).expanduser())
    if (fields["gguf"] or "").startswith("~"):
        fields["gguf"] = str(Path(fields["gguf"]).expanduser())
    fields["rescue"] = not fields.pop("no_rescue")
    fields["constrain"] = not fields.pop("no_constrain")
    fields["workflows"] = tuple(values.get(TABLES, ()))
    workflow = fields.pop("workflow")
    if workflow is not None:
        fields["workflows"] += load_workflows(Path(workflow).expanduser())
    waiting = of_the_queue(fields)
    limits = limits_of(fields)
    if (fault := limits.fault()) is not None:
        raise SettingsError(by_option(fault))
    settings = Settings(limits=limits, **fields)
    settings.check()
    if waiting is not None and settings.at_once is None:
        raise SettingsError(
            f"{waiting} means nothing where nothing waits: set max_concurrent too, or serialize"
        )
    return settings
