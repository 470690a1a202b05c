"""Arguments of earlier calls, made fit to be sent again."""

from __future__ import annotations

from forge.wire.json_text import dumps, is_json

UNREADABLE = "unreadable_arguments"
"""The key under which arguments that cannot be read are quoted. Templates that walk an object stay happy."""


def sound_arguments(arguments: str) -> str:
    """JSON text for ``arguments``: as they are where they are JSON, quoted as a string in an object otherwise.

    The same text always gives the same answer.
    """
    if is_json(arguments):
        return arguments
    if not arguments.strip():
        return "{}"
    return dumps({UNREADABLE: arguments}).decode()
