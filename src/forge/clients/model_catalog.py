"""The list of served models (``GET /v1/models``), as vLLM fills it in."""

from __future__ import annotations

from msgspec import Struct

from forge.errors import BackendError
from forge.wire.json_text import loads


class ServedModel(Struct, frozen=True):
    """One served model; ``context_length`` in tokens, if the server says it."""

    id: str
    context_length: int | None = None


def read_catalog(body: bytes) -> list[ServedModel]:
    """The entries in the server's order; what has no name is left out.

    Raises:
        BackendError: the answer is no catalogue.
    """
    try:
        answer = loads(body)
    except ValueError:
        answer = None
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise BackendError(502, "malformed data", raw_body=body.decode("utf-8", "replace"))
    return [
        ServedModel(entry["id"], _window(entry.get("max_model_len")))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    ]


def _window(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
