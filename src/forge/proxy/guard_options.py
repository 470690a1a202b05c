"""Options of the command about what is checked in an answer, and what happens when it fails."""

from __future__ import annotations

from typing import Final

import click

from forge.core.reasoning import REASONING_REPLAY_CHOICES
from forge.engine.policy import TEXT_POLICIES
from forge.proxy.option_groups import GroupedOption, option

_GUARDS: Final = "Guards"

GUARD_OPTIONS: Final[tuple[GroupedOption, ...]] = (
    option(
        _GUARDS,
        "--max-retries",
        type=int,
        default=3,
        show_default=True,
        metavar="N",
        help="Corrections of a failed answer.",
    ),
    option(
        _GUARDS,
        "--max-tool-errors",
        type=int,
        default=2,
        show_default=True,
        metavar="N",
        help="Corrections of invalid arguments.",
    ),
    option(
        _GUARDS,
        "--text-policy",
        type=click.Choice(TEXT_POLICIES),
        default="auto",
        show_default=True,
        help="When plain text is an answer while tools are offered. auto: unless it is empty, a broken call or a "
        "bare announcement. nudge: never. respond: never, but a respond tool is offered. trust: always.",
    ),
    option(_GUARDS, "--inject-respond-tool", is_flag=True, help="Same as --text-policy respond."),
    option(
        _GUARDS, "--no-rescue", is_flag=True, help="Leave calls that the model wrote as text in the text."
    ),
    option(
        _GUARDS,
        "--no-constrain",
        is_flag=True,
        help="Never constrain the last attempt to the tools' schemas.",
    ),
    option(
        _GUARDS,
        "--reasoning-replay",
        type=click.Choice(REASONING_REPLAY_CHOICES),
        default="full",
        show_default=True,
        help="Which thinking passes. full: all of it, as it came. keep-last: of the history only the last. none: "
        "none, neither in the history nor in answers.",
    ),
    option(
        _GUARDS,
        "--loop-limit",
        type=int,
        default=3,
        show_default=True,
        metavar="N",
        help="Equal results of equal calls in a row, after which one more such call is corrected; 0 never.",
    ),
    option(
        _GUARDS,
        "--workflow",
        metavar="FILE",
        help="Rules for the order of calls, in TOML: required steps, prerequisites, terminal tools.",
    ),
)
