"""Options of the command about who may speak to the proxy, where, and how much."""

from __future__ import annotations

from typing import Final

from forge.proxy.option_groups import GroupedOption, NonBlank, option

_LISTEN: Final = "Listening"

LISTEN_OPTIONS: Final[tuple[GroupedOption, ...]] = (
    option(_LISTEN, "--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    option(
        _LISTEN,
        "--port",
        type=int,
        default=8081,
        show_default=True,
        help="Port to listen on; 0 takes a free one.",
    ),
    option(
        _LISTEN,
        "--workers",
        type=int,
        default=1,
        show_default=True,
        metavar="N",
        help="Processes that share the port. Queue, limits and stored responses are each worker's own.",
    ),
    option(
        _LISTEN,
        "--api-key",
        type=NonBlank(),
        envvar="FORGE_API_KEY",
        show_envvar=True,
        in_profile=False,
        metavar="KEY",
        help="Key that callers must send as 'Authorization: Bearer KEY' or 'x-api-key: KEY'.",
    ),
    option(
        _LISTEN,
        "--api-key-file",
        type=NonBlank(),
        metavar="FILE",
        help="File that holds the key for callers, and nothing else.",
    ),
    option(
        _LISTEN,
        "--allow-anonymous",
        is_flag=True,
        help="Serve callers without a key although --host or a backend key would demand one.",
    ),
    option(
        _LISTEN,
        "--allowed-host",
        "allowed_hosts",
        multiple=True,
        metavar="NAME",
        help="A name by which clients may call the proxy (their Host header); repeatable.",
    ),
    option(
        _LISTEN,
        "--cors-origin",
        "cors_origins",
        multiple=True,
        metavar="ORIGIN",
        help="An origin whose web pages may use the proxy, https://example.com or *; repeatable. Default: none.",
    ),
)
