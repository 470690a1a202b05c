"""JSON at the wire's edge: fast where the text is right, tolerant where real peers are not.

msgspec (like every strict parser, llama-server's among them) refuses two things that clients and servers do
send: lone surrogates (half of an emoji, escaped) and ``NaN``. Both are dealt with here, once.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from msgspec import Raw

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_skip = msgspec.json.Decoder(Raw).decode

MAX_DEPTH = 64
"""Nesting that decoded values may have. Deeper ones are refused: every recursive reader behind would break."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|\bNaN\b|-?\bInfinity\b', re.DOTALL)
"""A string that is not closed goes to the end: it would be looked for again from every quote in it."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)


def dumps(value: Any) -> bytes:
    """``value`` as compact JSON. Lone surrogates become escapes, since UTF-8 has no bytes for them."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=msgspec.to_builtins).encode()


def loads(data: bytes | str) -> Any:
    """``data`` decoded; lone surrogates and ``NaN`` are kept, bytes that are not UTF-8 become U+FFFD.

    Raises:
        ValueError: it is no JSON, or is nested too deeply for this interpreter.
    """
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def is_json(text: str | bytes) -> bool:
    """Whether ``text`` is one JSON value that a strict parser accepts."""
    try:
        _skip(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def says_something(raw: Raw | None) -> bool:
    """Whether an optional field asks for anything: it is there, and neither null, nor false, nor empty."""
    return raw is not None and bytes(raw) not in (b"null", b"false", b"{}", b"[]")


def well_formed(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strict(body: bytes) -> bytes:
    """``body`` with lone surrogate escapes made U+FFFD and non-finite numbers null; every other byte as it was."""
    return _STRING_OR_NAN.sub(_strict_token, body)


def _strict_token(match: re.Match[bytes]) -> bytes:
    token = match.group()
    if not token.startswith(b'"'):
        return b"null"
    return _ESCAPE.sub(_strict_escape, token) if b"\\ud" in token.lower() else token


def _strict_escape(match: re.Match[bytes]) -> bytes:
    escape = match.group()
    lone = len(escape) == 6 and escape[1:3].lower() == b"ud"
    return b"\\ufffd" if lone else escape


def depth_within(value: Any, limit: int = MAX_DEPTH) -> bool:
    """Whether the containers of ``value`` nest at most ``limit`` deep."""
    level = [value]
    for _ in range(limit):
        level = [item for container in level for item in _items(container)]
        if not level:
            return True
    return not any(isinstance(item, dict | list) for item in level)


def _items(container: Any) -> Any:
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, list) else ()
