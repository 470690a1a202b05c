"""Answers to a request that offered ``functions``: their call is a ``function_call``, without an id."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from forge.core.events import CallReady, Finished
from forge.wire.json_text import dumps, loads, strict
from forge.wire.openai_emit import ChunkEncoder

_REASONS = {"tool_calls": "function_call"}
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


class FunctionChunkEncoder(ChunkEncoder):
    """Encodes one streamed answer with its first call as a ``function_call``."""

    def call(self, index: int, call: CallReady) -> bytes:
        """A whole call in one chunk; nothing for another one, which has no place."""
        if index:
            return b""
        return self._chunk({"function_call": {"name": call.name, "arguments": call.arguments}}, {}, None)

    def finish(self, finished: Finished) -> bytes:
        """As :meth:`ChunkEncoder.finish`."""
        reason = _REASONS.get(finished.reason, finished.reason)
        return super().finish(msgspec.structs.replace(finished, reason=reason))


def with_function_call(answer: bytes) -> bytes:
    """A whole answer with the first call of each choice as its ``function_call``; all else in it as it was.

    It may be a backend's own: halves of emoji and ``NaN`` are replaced in it, and what is no choice stays.
    """
    try:
        fields = _decode_fields(answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        fields = _decode_fields(strict(answer.decode("utf-8", "replace").encode()))
    return dumps({**fields, "choices": [_choice(choice) for choice in _decode_list(fields["choices"])]})


def _choice(raw: Raw) -> Any:
    choice = _members(raw)
    message = _members(choice.get("message"))
    calls = _entries(message.pop("tool_calls", None))
    function = _members(calls[0]).get("function") if calls else None
    if function is None:
        return raw
    reason = loads(bytes(choice.get("finish_reason", b"null")))
    if reason in _REASONS:
        choice["finish_reason"] = _REASONS[reason]
    return {**choice, "message": {**message, "function_call": function}}


def _members(raw: Raw | None) -> dict[str, Any]:
    return dict(_decode_fields(raw)) if raw is not None and bytes(raw)[:1] == b"{" else {}


def _entries(raw: Raw | None) -> list[Raw]:
    return _decode_list(raw) if raw is not None and bytes(raw)[:1] == b"[" else []
