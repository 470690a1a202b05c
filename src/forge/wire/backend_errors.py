"""Error answers of model servers, in the shapes that they really come in, as our errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forge.errors import BackendError, MalformedOutputError
from forge.wire.json_text import dumps, loads

_MAX_DETAIL = 500
# What llama-server says (since late 2025, and before) when its own parser cannot read the model's output.
_MALFORMED = (
    "does not match the expected",
    "failed to parse input at pos",
    "failed to parse tool call",
    "unexpected content at end of",
)
_NOT_MALFORMED = ("failed to parse tool call arguments",)
"""The same server's words about a request whose history it cannot read."""
ECHO_TAGS = ("<tool_call", "<function=")
"""Builds before about b9650 put the text that they could not parse into the error's message."""


def error_from_answer(
    status: int | None, answer: Any, *, retry_after: str | None = None, body: str | None = None
) -> BackendError:
    """The error that ``answer`` (decoded JSON, or text) is.

    ``status`` is the HTTP status; None for an error event inside a good stream, whose own code counts then.
    """
    message, code = _read(answer)
    status_code = status if status is not None else code if code is not None else 500
    raw = body if body is not None else answer if isinstance(answer, str) else dumps(answer).decode()
    detail = message if len(message) <= _MAX_DETAIL else message[:_MAX_DETAIL] + "..."
    lower = message.lower()
    malformed = status_code >= 500 and (
        any(tag in message for tag in ECHO_TAGS)
        or (
            any(words in lower for words in _MALFORMED)
            and not any(words in lower for words in _NOT_MALFORMED)
        )
    )
    kind = MalformedOutputError if malformed else BackendError
    error = kind(status_code, detail, raw_body=raw)
    error.retry_after = retry_after
    return error


def error_from_body(status: int, body: bytes, *, retry_after: str | None = None) -> BackendError:
    """The error of an answer with an error status; its body may be JSON, text or a proxy's HTML page."""
    text = body.decode("utf-8", "replace")
    try:
        answer: Any = loads(body)
    except ValueError:
        answer = "" if text.lstrip()[:1] == "<" else text.strip()
    return error_from_answer(status, answer, retry_after=retry_after, body=text)


def _read(answer: Any) -> tuple[str, int | None]:
    """Message and code out of ``{"error": {...}}``, ``{"error": "..."}``, ``{"detail": ...}``, ``{"message": ...}``,
    the string being a message or such an answer once more.
    """
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    if isinstance(error, Mapping):
        code = error.get("code", error.get("status"))
        number = code if isinstance(code, int) and 400 <= code <= 599 else None
        for name in ("message", "detail", "error", "msg"):
            value = error.get(name)
            if isinstance(value, str) and value:
                return value, number
            if value is not None and not isinstance(value, str):
                return dumps(value).decode(), number
        return "", number
    if not isinstance(error, str):
        return "", None
    if error.lstrip().startswith("{"):
        # Ollama passes its engine's whole answer on as a string.
        inner = _json_or_text(error)
        message, number = _read(inner) if isinstance(inner, Mapping) else ("", None)
        return message or error, number
    return error, None


def echoed_output(error: BackendError) -> str | None:
    """The model's text where an old llama-server put it into the message of its error, else None."""
    if not isinstance(error, MalformedOutputError):
        return None
    message, _ = _read(_json_or_text(error.body))
    starts = [message.find(tag) for tag in ECHO_TAGS if tag in message]
    return message[min(starts) :] if starts else None


def _json_or_text(body: str) -> Any:
    try:
        return loads(body)
    except ValueError:
        return body
