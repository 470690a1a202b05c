"""Changing calls and results in a caller's message without losing anything else in its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, structs

from forge.core.request import Call, ChatMessage, Part, Protocol, Result, Text
from forge.wire.json_text import dumps, loads

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def with_parts(message: ChatMessage, parts: Sequence[Part], added: Sequence[Result] = ()) -> ChatMessage:
    """``message`` with ``parts`` in place of its own, one for one, and more results behind its last one.

    Its raw form follows where a call or a result is another one. Without a change it is the same object.
    """
    new = tuple(parts)
    if new == message.parts and not added:
        return message
    raw = message.raw
    if raw is not None:
        edit = _anthropic if message.protocol is Protocol.ANTHROPIC else _openai
        raw = Raw(dumps(edit(raw, message.parts, new, added)))
    return structs.replace(message, parts=_with_added(new, added), raw=raw)


def _with_added(parts: tuple[Part, ...], added: Sequence[Result]) -> tuple[Part, ...]:
    end = max((i + 1 for i, part in enumerate(parts) if isinstance(part, Result)), default=0)
    return (*parts[:end], *added, *parts[end:])


def _openai(raw: Raw, old: Sequence[Part], new: Sequence[Part], _: Sequence[Result]) -> dict[str, Any]:
    fields: dict[str, Any] = _decode_fields(raw)
    calls = iter([part for part in new if isinstance(part, Call)])
    if any(isinstance(part, Call) for part in old):
        fields["tool_calls"] = [_openai_call(entry, calls) for entry in _decode_list(fields["tool_calls"])]
    for before, after in zip(old, new, strict=True):
        if isinstance(before, Result) and isinstance(after, Result):
            fields["tool_call_id"] = after.call_id
            if before.name != after.name:
                fields["name"] = after.name
    return fields


def _openai_call(raw: Raw, calls: Iterator[Call]) -> Any:
    entry: dict[str, Any] = _decode_fields(raw)
    if "function" not in entry:
        return raw
    call = next(calls)
    function: dict[str, Any] = _decode_fields(entry["function"])
    given = function.get("arguments")
    function["name"] = call.name
    if given is None or bytes(given)[:1] in (b'"', b"n"):
        function["arguments"] = call.arguments
    return {**entry, "id": call.id, "function": function}


def _anthropic(raw: Raw, old: Sequence[Part], new: Sequence[Part], added: Sequence[Result]) -> dict[str, Any]:
    fields: dict[str, Any] = _decode_fields(raw)
    pairs = iter(
        [(before, after) for before, after in zip(old, new, strict=True) if isinstance(before, Call | Result)]
    )
    blocks: list[Any] = []
    loose: list[Any] = []
    end = 0
    for block in loads(bytes(fields["content"])):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in ("tool_use", "tool_result"):
            blocks.append(block)
            continue
        _, after = next(pairs)
        if isinstance(after, Call):
            blocks.append({**block, "id": after.id, "name": after.name})
        elif isinstance(after, Result):
            blocks.append({**block, "tool_use_id": after.call_id})
            end = len(blocks)
        else:
            loose += _loose(block, after)
    results = [
        {"type": "tool_result", "tool_use_id": result.call_id, "content": result.content, "is_error": True}
        for result in added
    ]
    # Results must come first.
    fields["content"] = blocks[:end] + results + loose + blocks[end:]
    return fields


def _loose(block: dict[str, Any], text: Part) -> list[Any]:
    """What a result's block holds, without the call that it named: ``text``, and whatever in it is none."""
    assert isinstance(text, Text)
    content = block.get("content")
    others = [
        inner
        for inner in (content if isinstance(content, list) else ())
        if isinstance(inner, dict) and inner.get("type") != "text"
    ]
    return [{"type": "text", "text": text.text}, *others]
