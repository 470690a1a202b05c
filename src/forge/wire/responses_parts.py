"""Content parts of Responses items, as parts of chat messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec import Raw

from forge.core.request import Opaque, Part, Text
from forge.errors import RequestError
from forge.wire.json_text import dumps, loads, well_formed

_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})


def read_parts(content: str | Sequence[Raw] | None, param: str, between: str) -> list[Part]:
    """The parts of a content; texts that follow one another become one, with ``between`` between them.

    Raises:
        RequestError: a part is not written as it must be, or names a file that only OpenAI's service has.
    """
    if not content:
        return []
    if isinstance(content, str):
        return [Text(content)]
    parts: list[Part] = []
    read = (_part(raw, f"{param}[{i}]") for i, raw in enumerate(content))
    for is_text, run in groupby(read, lambda part: isinstance(part, Text)):
        if is_text:
            parts.append(Text(between.join(part.text for part in run if isinstance(part, Text))))
        else:
            parts += run
    return parts


def texts(content: Sequence[Raw], param: str) -> list[str]:
    """The texts among the parts of a content."""
    parts = [_part(raw, f"{param}[{i}]") for i, raw in enumerate(content)]
    return [part.text for part in parts if isinstance(part, Text)]


def _part(raw: Raw, param: str) -> Part:
    try:
        part = loads(bytes(raw))
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None
    if isinstance(part, str):
        return Text(well_formed(part))
    if not isinstance(part, dict):
        raise RequestError(f"'{param}' must be an object", param)
    kind = part.get("type")
    if kind in _TEXTS:
        return Text(well_formed(_string(part, "text", param)))
    if kind == "refusal":
        return Text(well_formed(_string(part, "refusal", param)))
    if kind == "input_image":
        return _image(part, param)
    if kind == "input_file":
        return _file(part, param)
    if not isinstance(kind, str):
        raise RequestError(f"'{param}.type' must be a string", f"{param}.type")
    # input_audio is the same in a chat; what neither protocol knows is the backend's to judge.
    return Opaque(raw)


def _image(part: dict[str, Any], param: str) -> Opaque:
    url = part.get("image_url")
    if not isinstance(url, str) or not url:
        raise _only_there(part, param, "image_url")
    image = {"url": url}
    if isinstance(part.get("detail"), str):
        image["detail"] = part["detail"]
    return Opaque(Raw(dumps({"type": "image_url", "image_url": image})))


def _file(part: dict[str, Any], param: str) -> Opaque:
    data = part.get("file_data")
    if not isinstance(data, str) or not data:
        raise _only_there(part, param, "file_data")
    file = {"file_data": data}
    if isinstance(part.get("filename"), str):
        file = {"filename": part["filename"], "file_data": data}
    return Opaque(Raw(dumps({"type": "file", "file": file})))


def _only_there(part: dict[str, Any], param: str, wanted: str) -> RequestError:
    for name in ("file_id", "file_url"):
        if part.get(name) is not None:
            return RequestError(
                f"'{param}.{name}' cannot be fetched here: send the content itself in '{wanted}'",
                f"{param}.{name}",
            )
    return RequestError(f"'{param}.{wanted}' must be a string", f"{param}.{wanted}")


def _string(part: dict[str, Any], field: str, param: str) -> str:
    value = part.get(field)
    if not isinstance(value, str):
        raise RequestError(f"'{param}.{field}' must be a string", f"{param}.{field}")
    return value
