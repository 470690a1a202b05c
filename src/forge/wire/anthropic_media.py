"""Images, documents and search results of the Messages API as parts of chat completions."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from forge.core.request import Opaque, Part, Text
from forge.wire.json_text import dumps, loads


def openai_parts(raw: Raw, lost: set[str]) -> list[Part]:
    """The parts that say what a content block says; none, and its name in ``lost``, where there are none.

    For an image or a document that cannot be passed on the model is told that there was one: an answer about
    something that it never saw would be made up.
    """
    block = loads(bytes(raw))
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "image":
        return [_image(block, lost)]
    if kind == "document":
        return _document(block, lost)
    if kind == "search_result":
        return [Text(_titled(block, _texts(block.get("content"))))]
    lost.add(f"content of type {kind}")
    return []


def _image(block: dict[str, Any], lost: set[str]) -> Part:
    source = _object(block, "source")
    kind = source.get("type")
    if kind == "url" and isinstance(source.get("url"), str):
        url = source["url"]
    elif kind == "base64" and isinstance(source.get("data"), str):
        url = f"data:{source.get('media_type') or 'image/png'};base64,{source['data']}"
    else:
        lost.add(f"images from a source of type {kind}")
        return Text("[An image that this model cannot be shown.]")
    return Opaque(Raw(dumps({"type": "image_url", "image_url": {"url": url}})))


def _document(block: dict[str, Any], lost: set[str]) -> list[Part]:
    source = _object(block, "source")
    kind = source.get("type")
    if kind == "text" and isinstance(source.get("data"), str):
        return [Text(_titled(block, source["data"]))]
    if kind == "content":
        content = source.get("content")
        blocks = content if isinstance(content, list) else []
        images = [_image(inner, lost) for inner in blocks if _kind(inner) == "image"]
        return [Text(_titled(block, _texts(content))), *images]
    lost.add(f"documents of type {source.get('media_type') or kind}")
    return [Text(_titled(block, "[A document that this model cannot be shown.]"))]


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _titled(block: dict[str, Any], text: str) -> str:
    heads = [block[name] for name in ("title", "source", "context") if isinstance(block.get(name), str)]
    return "\n".join([*heads, text])


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}
