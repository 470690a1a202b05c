"""A list of models that clients of both protocols can read. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


def with_openai_fields(body: bytes) -> bytes:
    """Anthropic's list of models, or one of them, with the fields that OpenAI's clients look for added.

    Nothing is taken away, so that Anthropic's own clients see what they expect. Anything else stays as it is.
    """
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body
    if not isinstance(document, dict):
        return body
    models = document.get("data")
    if isinstance(models, list):
        data = [_model(each) for each in models]
        return msgspec.json.encode({"object": "list", **document, "data": data})
    return msgspec.json.encode(_model(document)) if document.get("type") == "model" else body


def _model(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {"object": "model", "owned_by": "anthropic", "created": _seconds(value.get("created_at")), **value}


def _seconds(moment: Any) -> int:
    """A time of day as seconds since 1970; 0 where it cannot be read."""
    try:
        return max(0, int(datetime.fromisoformat(moment).timestamp()))
    except (TypeError, ValueError, OverflowError):
        return 0
