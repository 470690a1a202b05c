"""The tokens of an answer that was not decoded: found in its bytes once it is out. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from forge.core.events import Usage
from forge.wire.openai import read_usage


class _Document(Struct):
    """Of an answer, an event, or the message or response in one: what may hold counts. All else is skipped over."""

    usage: Any = None
    timings: Any = None
    message: Any = None
    response: Any = None


_decode = msgspec.json.Decoder(_Document).decode
# Inside a text the quotes are escaped.
_MODEL = re.compile(rb'(?<!\\)"model"\s*:\s*("(?:[^"\\]|\\.)*")')


def spent(first: bytes, last: bytes = b"") -> Usage | None:
    """Tokens of a JSON answer, or of an event stream of which ``first`` and ``last`` were kept; None if it says nothing.

    Understood are the usage objects of chat completions, Messages and Responses, and llama-server's ``timings``,
    which are there also where no usage was asked for.
    """
    counts: dict[str, Any] = {}
    timings: dict[str, Any] = {}
    for document in _documents(first, last):
        counts |= _usage_of(document)
        if isinstance(document.timings, dict):
            timings = document.timings
    if "prompt_tokens" in counts:
        return read_usage(counts)
    if "input_tokens" in counts:
        return _read_input_output(counts)
    if timings:
        cached = _count(timings, "cache_n")
        return Usage(
            prompt_tokens=_count(timings, "prompt_n") + cached,
            completion_tokens=_count(timings, "predicted_n"),
            cached_tokens=cached,
        )
    return None


def answering_model(first: bytes) -> str | None:
    """The model that an answer says it is of; None if its beginning does not say."""
    found = _MODEL.search(first)
    try:
        return msgspec.json.decode(found[1], type=str) if found is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _documents(first: bytes, last: bytes) -> list[_Document]:
    if first.lstrip()[:1] == b"{":
        texts = [first + last]
    else:
        lines = (*first.splitlines(), *last.splitlines())
        texts = [
            line[5:]
            for line in lines
            if line.startswith(b"data:") and (b'usage"' in line or b'"timings"' in line)
        ]
    return [document for text in texts if (document := _decoded(text)) is not None]


def _decoded(data: bytes) -> _Document | None:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # cut where the kept part begins or ends, or no object


def _usage_of(document: _Document) -> dict[str, Any]:
    """The usage object of a document, or of the message or response in an event."""
    for usage in (document.usage, _in(document.message), _in(document.response)):
        if isinstance(usage, dict):
            return {name: value for name, value in usage.items() if value is not None}
    return {}


def _in(holder: Any) -> Any:
    return holder.get("usage") if isinstance(holder, dict) else None


def _read_input_output(counts: Mapping[str, Any]) -> Usage:
    read, created = _count(counts, "cache_read_input_tokens"), _count(counts, "cache_creation_input_tokens")
    details = counts.get("input_tokens_details")  # of Responses, whose input tokens include the cached ones
    cached = read + (_count(details, "cached_tokens") if isinstance(details, dict) else 0)
    return Usage(
        prompt_tokens=_count(counts, "input_tokens") + read + created,
        completion_tokens=_count(counts, "output_tokens"),
        cached_tokens=cached,
        cache_creation_tokens=created,
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
