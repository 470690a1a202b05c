"""The command line's options for limits, and from their values to a :class:`Limits`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from forge.proxy.limits import Limits
from forge.proxy.option_groups import GroupedOption, option

LIMITS = "Limits"
_MIB = 1024 * 1024
_DEFAULTS = Limits()
_SECONDS: dict[str, tuple[str, str]] = {
    "connect_timeout": ("connect_seconds", "For a connection to the backend."),
    "first_byte_timeout": (
        "first_byte_seconds",
        "From a request to the first byte of the backend's answer. Default: --backend-timeout.",
    ),
    "between_bytes_timeout": (
        "between_bytes_seconds",
        "Silence within the backend's answer. Default: --backend-timeout.",
    ),
    "total_timeout": (
        "total_seconds",
        "For one request once it is its turn, corrections included. Default: no limit.",
    ),
    "queue_timeout": ("queue_seconds", "In the queue."),
    "header_timeout": ("header_seconds", "For the head of a client's request."),
    "body_timeout": ("body_seconds", "For the body of a client's request."),
    "write_timeout": (
        "write_seconds",
        "In which a client takes nothing of its answer, until it is given up.",
    ),
    "keep_alive_timeout": ("keep_alive_seconds", "That an idle connection is kept."),
    "drain_timeout": ("drain_seconds", "That requests in flight may take after a signal to stop."),
    "heartbeat": ("heartbeat_seconds", "Silence in a stream after which a comment is sent."),
}
_COUNTS: dict[str, tuple[str, str]] = {
    "queue_limit": ("queue", "Requests that may wait for their turn; more get a 503."),
    "max_connections": ("connections", "Open connections of clients; more get a 503."),
    "max_header_bytes": ("header_bytes", "Of one request's head."),
    "max_headers": ("header_count", "Of one request."),
}
_MEBIBYTES: dict[str, tuple[str, str]] = {
    "max_body": ("body_bytes", "Of a request's body."),
    "max_bodies": (
        "bodies_bytes",
        "Of the bodies of all requests that are being answered; more get a 503. One alone always has room.",
    ),
}
_FIELDS = {name: field for name, (field, _) in (_SECONDS | _COUNTS).items()}


def _option(name: str, field: str, help_: str, kind: type, metavar: str) -> GroupedOption:
    default = getattr(_DEFAULTS, field)
    told = "" if default is None else f" Default: {default:g}." if kind is float else f" Default: {default}."
    return option(
        LIMITS, "--" + name.replace("_", "-"), type=kind, metavar=metavar, default=None, help=help_ + told
    )


LIMIT_OPTIONS: Final[tuple[GroupedOption, ...]] = (
    option(
        LIMITS,
        "--serialize/--no-serialize",
        default=None,
        help="Let one request at a time reach the backend. Default: only if Forge starts it, for one worker.",
    ),
    option(
        LIMITS,
        "--max-concurrent",
        type=int,
        metavar="N",
        help="Let N requests at a time reach the backend; others wait, callers taking turns.",
    ),
    *(_option(name, field, help_, int, "N") for name, (field, help_) in _COUNTS.items()),
    *(
        option(
            LIMITS,
            "--" + name.replace("_", "-"),
            type=float,
            metavar="MIB",
            help=f"{help_} Default: {getattr(_DEFAULTS, field) // _MIB}.",
        )
        for name, (field, help_) in _MEBIBYTES.items()
    ),
    *(_option(name, field, help_, float, "SECONDS") for name, (field, help_) in _SECONDS.items()),
)


def of_the_queue(flags: Mapping[str, Any]) -> str | None:
    """An option of ``flags`` that was given, and only counts where requests wait; None if there is none."""
    return next((name for name in ("queue_limit", "queue_timeout") if flags[name] is not None), None)


def limits_of(flags: dict[str, Any]) -> Limits:
    """Take the limits out of ``flags``; None is one that was not given."""
    given = {field: flags.pop(name, None) for name, field in _FIELDS.items()}
    for name, (field, _) in _MEBIBYTES.items():
        size = flags.pop(name, None)
        if size is not None:
            # What is no number of bytes is left for the check of the limits to say.
            given[field] = int(size * _MIB) if math.isfinite(size) else size
    return Limits(**{field: value for field, value in given.items() if value is not None})


def by_option(fault: str) -> str:
    """A fault of the limits with the name of its option, which is also its key in a profile, before it."""
    sizes = ((name, field) for name, (field, _) in _MEBIBYTES.items())
    for name, field in (*_FIELDS.items(), *sizes):
        if fault.startswith(f"{field} "):
            return name + fault.removeprefix(field)
    return fault
