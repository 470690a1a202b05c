"""Answers to a request that offered ``functions``: their call is a ``function_call``, without an id."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from forge.core.events import CallReady, Finished
from forge.wire.json_text import dumps, loads
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
    """A whole answer with the first call of each choice as its ``function_call``; all else in it as it was."""
    fields: dict[str, Any] = dict(_decode_fields(answer))
    fields["choices"] = [_choice(choice) for choice in _decode_list(fields["choices"])]
    return dumps(fields)


def _choice(raw: Raw) -> dict[str, Any]:
    choice: dict[str, Any] = dict(_decode_fields(raw))
    message: dict[str, Any] = dict(_decode_fields(choice["message"]))
    calls = _decode_list(message.pop("tool_calls", b"[]"))
    if calls:
        message["function_call"] = _decode_fields(calls[0])["function"]
        reason = loads(bytes(choice["finish_reason"]))
        choice["finish_reason"] = _REASONS.get(reason, reason)
    return {**choice, "message": message}
