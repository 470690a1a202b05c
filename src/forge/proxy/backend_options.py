"""Options of the command about what is behind the proxy: a server that runs, or one to start."""

from __future__ import annotations

from typing import Final

import click

from forge.proxy.managed_rules import BUDGET_MODES
from forge.proxy.option_groups import REST, GroupedOption, NonBlank, option
from forge.proxy.settings import BACKENDS, CAPABILITIES

_BACKEND: Final = "Backend"
_MANAGED: Final = "Backend started by Forge (no --backend-url)"

BACKEND_OPTIONS: Final[tuple[GroupedOption, ...]] = (
    option(
        _BACKEND,
        "--backend-url",
        type=NonBlank(),
        metavar="URL",
        help="Where the model server answers; a trailing /v1 is fine.",
    ),
    option(
        _BACKEND,
        "--backend",
        type=click.Choice(BACKENDS),
        help="Kind of model server. Default: openai (anything OpenAI-shaped). embedded starts a small one itself.",
    ),
    option(_BACKEND, "--model", type=NonBlank(), metavar="NAME", help="Model for requests that name none."),
    option(
        _BACKEND,
        "--backend-capability",
        type=click.Choice(CAPABILITIES),
        default="native",
        show_default=True,
        help="native: tools go to the server as tools. prompt: they are described in the prompt.",
    ),
    option(
        _BACKEND,
        "--backend-timeout",
        type=float,
        default=300.0,
        show_default=True,
        metavar="SECONDS",
        help="Silence after which a call to the backend fails.",
    ),
    option(
        _BACKEND,
        "--backend-api-key",
        type=NonBlank(),
        envvar="FORGE_BACKEND_API_KEY",
        show_envvar=True,
        in_profile=False,
        metavar="KEY",
        help="Key for the backend. Other users can see a command line; better use the environment or a file.",
    ),
    option(
        _BACKEND,
        "--backend-api-key-file",
        type=NonBlank(),
        metavar="FILE",
        help="File that holds the key for the backend, and nothing else.",
    ),
    option(
        _BACKEND,
        "--wait",
        is_flag=True,
        help="Wait for a backend that does not answer yet, instead of exiting.",
    ),
    option(_MANAGED, "--gguf", type=NonBlank(), metavar="FILE", help="Model for llamaserver or llamafile."),
    option(_MANAGED, "--model-path", type=NonBlank(), metavar="PATH", help="Model for vllm."),
    option(
        _MANAGED,
        "--backend-port",
        type=int,
        metavar="PORT",
        help="Its port; 0 takes a free one. Default: 8080. With --backend-url: replaces the URL's port.",
    ),
    option(
        _MANAGED,
        "--budget-mode",
        type=click.Choice(BUDGET_MODES),
        help="Its context. backend, forge-full: what it takes by itself (default). forge-fast: half of that. "
        "manual: --budget-tokens.",
    ),
    option(
        _MANAGED,
        "--budget-tokens",
        type=int,
        metavar="N",
        help="Its context in tokens, with manual. With --backend-url: what /forge/usage takes it to be.",
    ),
    option(
        _MANAGED,
        REST,
        type=click.UNPROCESSED,
        metavar="...",
        help="Everything after it goes to the server's command line.",
    ),
)
