"""What a model reads of a tool's result, whatever Python value it is."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from itertools import islice
from typing import Any

_MAX_DEPTH = 32
_MAX_ITEMS = 10_000


def serialise_result(value: Any) -> str:
    """``value`` as text: a string as it is, anything else as JSON with its characters unescaped.

    Knows pydantic models, dataclasses, enums, dates and times, bytes (as text, else Base64), sets and any other
    iterable, and mappings with keys of any kind. What is none of these is shown as ``str()`` shows it. Never raises.
    """
    if isinstance(value, str):
        return _sendable(str(value))
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        # Not JSON as it stands (odd types or keys, a cycle): the slow way, which takes everything.
        text = json.dumps(_plain(value, 0), ensure_ascii=False)
    return _sendable(text)


def _sendable(text: str) -> str:
    """Text without lone surrogates, which UTF-8 cannot carry."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, depth)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth >= _MAX_DEPTH:
        return _shown(value)
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    if isinstance(value, BaseException | type):
        return _shown(value)
    return _composed(value, depth + 1)


def _composed(value: Any, depth: int) -> Any:
    try:
        if callable(dump := getattr(value, "model_dump", None)):
            return _plain(dump(mode="json"), depth)
        if dataclasses.is_dataclass(value):
            return {f.name: _plain(getattr(value, f.name), depth) for f in dataclasses.fields(value)}
        if callable(isoformat := getattr(value, "isoformat", None)):
            return str(isoformat())
        if hasattr(value, "_asdict"):
            return _plain(value._asdict(), depth)
        if hasattr(value, "__iter__") and not hasattr(value, "__fspath__"):
            items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
            return [_plain(item, depth) for item in islice(items, _MAX_ITEMS)]
    except Exception as error:  # noqa: BLE001 - the value's own code runs here, and a result must not fail a run
        return f"{_shown(value)} ({type(error).__name__} while reading it)"
    return _shown(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else _shown(key)


def _bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")


def _shown(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - likewise
        return f"<{type(value).__name__}>"
