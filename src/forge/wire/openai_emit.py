"""What the OpenAI door writes: chunks, whole answers and errors, as bytes.

A streamed token costs one JSON string: everything around it is rendered once per answer.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.core.pieces import joined
from forge.wire.json_text import dumps
from forge.wire.openai_request import REASONING_FIELDS

DONE_EVENT: Final = b"data: [DONE]\n\n"


class Identity(Struct, frozen=True, kw_only=True):
    """The envelope of one answer. ``extra`` holds further top-level fields (``system_fingerprint``)."""

    id: str
    model: str
    created: int
    extra: dict[str, Any] = {}

    @classmethod
    def of(cls, started: Started | None, *, id: str, model: str, created: int) -> Identity:  # noqa: A002
        """The backend's own envelope where it gave one, else the given values."""
        if started is None:
            return cls(id=id, model=model, created=created)
        return cls(
            id=started.id or id,
            model=started.model or model,
            created=started.created or created,
            extra=started.extra,
        )


class ChunkEncoder:
    """Encodes one streamed answer. Every method returns the bytes of whole events."""

    def __init__(self, identity: Identity) -> None:
        envelope = {
            **identity.extra,
            "id": identity.id,
            "object": "chat.completion.chunk",
            "created": identity.created,
            "model": identity.model,
        }
        self._envelope = b"data: " + dumps(envelope)[:-1]
        self._choice = self._envelope + b',"choices":[{"index":0,"delta":'
        self._content = self._choice + b'{"content":'
        self._reasoning = {name: self._choice + b'{"%b":' % name.encode() for name in REASONING_FIELDS}

    def role(self) -> bytes:
        """The first chunk."""
        return self._choice + b'{"role":"assistant","content":""},"finish_reason":null}]}\n\n'

    def text(self, delta: TextDelta) -> bytes:
        """A piece of text with what came beside it."""
        if delta.extra is None:
            return self._content + dumps(delta.text) + b'},"finish_reason":null}]}\n\n'
        beside = {name: value for name, value in delta.extra.items() if name != "delta"}
        inner = {"content": delta.text} if delta.text else {}
        inner.update(delta.extra.get("delta") or {})
        return self._chunk(inner, beside, None)

    def reasoning(self, delta: ReasoningDelta) -> bytes:
        """A piece of thinking, under the name it came with. Signatures have no place in this protocol."""
        if not delta.text:
            return b""
        prefix = self._reasoning.get(delta.field)
        if prefix is None:
            return self._chunk({delta.field: delta.text}, {}, None)
        return prefix + dumps(delta.text) + b'},"finish_reason":null}]}\n\n'

    def call(self, index: int, call: CallReady) -> bytes:
        """A whole call in one chunk."""
        return self._chunk({"tool_calls": [{"index": index, **_call(call)}]}, {}, None)

    def finish(self, finished: Finished) -> bytes:
        """The chunk with the finish reason, and the fields of the whole answer (``timings``)."""
        chunk = self._chunk({}, finished.extra.get("choice") or {}, finished.reason)
        fields = _top_level(finished)
        return chunk if not fields else b"%b,%b\n\n" % (chunk[:-3], dumps(fields)[1:])

    def usage(self, finished: Finished) -> bytes:
        """The chunk without choices that ends a stream whose caller asked for usage; again with those fields."""
        fields: dict[str, Any] = {"choices": [], **_top_level(finished)}
        fields["usage"] = encode_usage(finished.usage or Usage())
        return self._envelope + b"," + dumps(fields)[1:] + b"\n\n"

    def _chunk(self, delta: dict[str, Any], beside: dict[str, Any], reason: str | None) -> bytes:
        fields = dumps({**beside, "finish_reason": reason})[1:]
        return b"%b%b,%b]}\n\n" % (self._choice, dumps(delta), fields)


class AnswerBuilder:
    """Collects a turn's outputs into one whole answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._calls: list[CallReady] = []
        self._beside: list[dict[str, Any]] = []

    def add(self, output: TextDelta | ReasoningDelta | BlockDelta | CallReady) -> None:
        """Take the next output."""
        if isinstance(output, CallReady):
            self._calls.append(output)
        elif isinstance(output, ReasoningDelta):
            if output.text:
                self._reasoning.setdefault(output.field, []).append(output.text)
        elif isinstance(output, TextDelta):
            self._text.append(output.text)
            if output.extra:
                self._beside.append(output.extra)

    def encode(self, identity: Identity, finished: Finished) -> bytes:
        """The whole answer."""
        text = "".join(self._text)
        beside = joined(self._beside)
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if self._calls else "")}
        message.update({field: "".join(pieces) for field, pieces in self._reasoning.items()})
        message.update(beside.pop("delta", {}))
        if self._calls:
            message["tool_calls"] = [_call(call) for call in self._calls]
        choice = {
            "index": 0,
            "message": message,
            **beside,
            **(finished.extra.get("choice") or {}),
            "finish_reason": finished.reason,
        }
        return dumps(
            {
                **identity.extra,
                **_top_level(finished),
                "id": identity.id,
                "object": "chat.completion",
                "created": identity.created,
                "model": identity.model,
                "choices": [choice],
                "usage": encode_usage(finished.usage or Usage()),
            }
        )


def encode_usage(usage: Usage) -> dict[str, Any]:
    """OpenAI's usage object."""
    fields = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        **usage.extra,
    }
    details = usage.extra.get("prompt_tokens_details")
    if isinstance(details, dict) or usage.cached_tokens:
        kept = details if isinstance(details, dict) else {}
        fields["prompt_tokens_details"] = {**kept, "cached_tokens": usage.cached_tokens}
    return fields


def encode_error(message: str, *, kind: str, param: str | None = None, code: str | None = None) -> bytes:
    """An error body as OpenAI's SDKs parse it."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return dumps({"error": error})


def encode_error_event(body: bytes) -> bytes:
    """An error body as an event inside a stream; nothing but ``[DONE]`` may follow."""
    return b"data: %b\n\n" % body


def _top_level(finished: Finished) -> dict[str, Any]:
    return {name: value for name, value in finished.extra.items() if name != "choice"}


def _call(call: CallReady) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
