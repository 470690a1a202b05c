"""``python -m forge``: which commands there are. It runs none of them."""

from __future__ import annotations

import sys

from forge._version import __version__

_COMMANDS = {
    "forge.proxy": "serve the APIs of OpenAI and Anthropic before a model server, guarded",
    "forge.proxy init": "write a profile: settings of the proxy with a name",
    "forge.proxy check": "look at this installation; with --live, at a model server",
    "forge.embedded": "fetch, list and serve the small models that Forge can run itself",
}
_WIDTH = max(map(len, _COMMANDS))
_HELP = f"""Forge {__version__}: reliable tool calls from language models that you run yourself.

Commands; each has a --help:
{chr(10).join(f"  python -m {name:{_WIDTH}}  {does}" for name, does in _COMMANDS.items())}

To begin with, in front of a server that runs on port 8080:
  python -m forge.proxy --backend-url http://localhost:8080

As a library: import forge. Options here: --help, --version.
"""


def main(words: list[str]) -> int:
    """Say what was asked for; 2 where that was nothing, or a command in words that are none."""
    match words:
        case []:
            sys.stderr.write(_HELP)
            return 2
        case ["-h" | "--help" | "help"]:
            sys.stdout.write(_HELP)
        case ["--version"]:
            sys.stdout.write(f"{__version__}\n")
        case [word, *rest] if f"forge.{word}" in _COMMANDS:
            meant = " ".join((f"forge.{word}", *rest[:1]))
            meant = meant if meant in _COMMANDS else f"forge.{word}"
            sys.stderr.write(f"error: the command is python -m {meant}, with a dot\n")
            return 2
        case _:
            sys.stderr.write(f"error: {words[0]!r} is no command (see python -m forge --help)\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
