"""Arguments of earlier calls, made fit to be sent again."""

from __future__ import annotations

from forge.core.ledger import Risk
from forge.repair.tolerant import read_json
from forge.wire.json_text import dumps, is_json, well_formed

UNREADABLE = "unreadable_arguments"
"""The key under which arguments that cannot be read are quoted. Templates that walk an object stay happy."""


def sound_arguments(arguments: str) -> str:
    """JSON text for ``arguments``: as they are where they are JSON, mended where only one reading is possible,
    quoted as a string in an object otherwise.

    llama-server and Ollama fail the whole request when an earlier call's arguments are not JSON. The same text
    always gives the same answer.
    """
    if is_json(arguments):
        return arguments
    if not arguments.strip():
        return "{}"
    reading = read_json(arguments)
    whole = reading.closed and not arguments[reading.end :].strip()
    if whole and isinstance(reading.value, dict) and reading.risk in (None, Risk.SAFE):
        # Escapes of half an emoji were decoded by now: no parser would take them back.
        return dumps(_clean(reading.value)).decode()
    return dumps({UNREADABLE: well_formed(arguments)}).decode()


def object_arguments(arguments: str) -> bytes:
    """As :func:`sound_arguments`, but always an object: what Ollama and Anthropic demand of earlier calls."""
    text = sound_arguments(arguments)
    return text.encode() if text.lstrip().startswith("{") else dumps({UNREADABLE: text})


def _clean(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(str(key)): _clean(item) for key, item in value.items()}
    return value
