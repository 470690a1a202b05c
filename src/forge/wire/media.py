"""Content parts of the chat-completions protocol that are no text, read for wires that have another form for them."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from forge.core.request import ChatMessage, Opaque, Protocol
from forge.errors import RequestError
from forge.wire.json_text import loads


class Media(Struct, frozen=True, kw_only=True):
    """An image or a document: base64 text in ``data``, or a place in ``url``. ``type`` is its media type, if known."""

    type: str = ""
    data: str = ""
    url: str = ""


def read_media(part: Opaque, message: ChatMessage) -> Media:
    """What ``part`` of ``message`` shows.

    Raises:
        RequestError: it is of a kind that only its own protocol has.
    """
    value = _object(part.raw)
    kind = value.get("type")
    if message.protocol is Protocol.OPENAI and kind == "image_url":
        holder = value.get("image_url")
        url = holder.get("url") if isinstance(holder, dict) else holder
        if isinstance(url, str):
            return _from_url(url)
    if message.protocol is Protocol.OPENAI and kind == "file":
        file = value.get("file")
        data = file.get("file_data") if isinstance(file, dict) else None
        if isinstance(data, str):
            return _from_url(data)
    raise RequestError(f"a content part of type {kind!r} cannot be sent to this backend", "messages")


def _from_url(url: str) -> Media:
    if not url.startswith("data:"):
        return Media(url=url)
    head, _, data = url[5:].partition(",")
    media_type, _, encoding = head.partition(";")
    if encoding.rpartition(";")[2] != "base64":
        raise RequestError("a data: URL must be in base64", "messages")
    return Media(type=media_type, data=data)


def _object(raw: Raw) -> dict[str, Any]:
    try:
        value = loads(bytes(raw))
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}
