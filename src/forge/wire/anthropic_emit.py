"""What the Messages door writes: events, whole answers and errors, as bytes.

An answer is a row of content blocks. Streamed, one block is open at a time: a piece of another kind closes it. A
streamed token costs one JSON string; everything around it is rendered once per block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, Struct

from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.core.request import Protocol
from forge.wire.anthropic_ids import fit_call_id
from forge.wire.arguments import object_arguments
from forge.wire.json_text import dumps

PING_EVENT: Final = b'event: ping\ndata: {"type":"ping"}\n\n'
_STOP_EVENT: Final = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_SAME = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
"""The API's reasons with what they are called inside; ``pause_turn`` is one of those that have no other name."""
_OPENAI_COUNTS = frozenset({"total_tokens", "prompt_tokens_details", "completion_tokens_details"})
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
ERROR_TYPES: Final = frozenset(_TYPES.values()) | {"api_error"}


class Identity(Struct, frozen=True):
    """The envelope of one answer."""

    id: str
    model: str

    @classmethod
    def of(cls, started: Started | None, *, id: str, model: str) -> Identity:  # noqa: A002
        """The backend's own model, and its id where that is one of this API's; else the given ones."""
        own = started.id if started is not None and (started.id or "").startswith("msg_") else None
        return cls(id=own or id, model=(started.model if started is not None else None) or model)


class EventEncoder:
    """Encodes one streamed answer. Every method returns the bytes of whole events."""

    def __init__(self, identity: Identity, usage: Usage | None) -> None:
        self._identity = identity
        self._usage = usage or Usage()
        self._index = -1
        self._open: str | None = None
        self._prefix = b""
        self._early: list[Mapping[str, Any]] = []
        """Citations that came before the text that they are for."""
        self._refused = False

    def start(self) -> bytes:
        """The first event."""
        message = _message(self._identity, [], usage=encode_usage(self._usage))
        return _event("message_start", {"message": message})

    def text(self, delta: TextDelta) -> bytes:
        """A piece of text, or of a refusal. What else came beside it (logprobs) has no place in this protocol."""
        text, refused = _shown(delta)
        self._refused = self._refused or refused
        if not text:
            return b""
        before = b"" if self._open == "text" else self._begin_text()
        return b"%b%b%b}}\n\n" % (before, self._prefix, dumps(text))

    def reasoning(self, delta: ReasoningDelta) -> bytes:
        """A piece of thinking; a signature ends the block."""
        if delta.redacted:
            block = {"type": "redacted_thinking", "data": delta.redacted}
            return self._close() + self._block(block) + self._close()
        sent = b""
        if self._open != "thinking":
            empty = {"thinking": "", "signature": ""}
            sent = self._begin("thinking", empty, "thinking_delta", "thinking")
        if delta.text:
            sent += b"%b%b}}\n\n" % (self._prefix, dumps(delta.text))
        if delta.signature:
            piece = {"type": "signature_delta", "signature": delta.signature}
            sent += self._delta(piece) + self._close()
        return sent

    def block(self, delta: BlockDelta) -> bytes:
        """What only this API has: a whole block, a citation of the text that is open, or that text's end."""
        kind = delta.value.get("type")
        if kind == "content_block_stop":
            return self._close()
        if kind == "citations_delta":
            if self._open == "text":
                return self._delta(delta.value)
            self._early.append(delta.value)
            return b""
        return self._close() + self._block(delta.value) + self._close()

    def call(self, call: CallReady) -> bytes:
        """A whole call: its block, its input in one piece, its end."""
        block = {"type": "tool_use", "id": fit_call_id(call.id), "name": call.name, "input": {}}
        arguments = object_arguments(call.arguments).decode()
        piece = {"type": "input_json_delta", "partial_json": arguments}
        return self._close() + self._block(block) + self._delta(piece) + self._close()

    def finish(self, finished: Finished) -> bytes:
        """The end of the last block, why the answer ended, and what it cost."""
        delta = encode_stop(finished, refused=self._refused)
        fields = {"delta": delta, "usage": encode_usage(finished.usage or Usage()), **_beside(finished)}
        return self._close() + _event("message_delta", fields) + _STOP_EVENT

    def _begin_text(self) -> bytes:
        sent = self._begin("text", {"text": ""}, "text_delta", "text")
        early, self._early = self._early, []
        return sent + b"".join(map(self._delta, early))

    def _begin(self, kind: str, empty: Mapping[str, str], piece: str, field: str) -> bytes:
        sent = self._close() + self._block({"type": kind, **empty})
        self._open = kind
        head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
        self._prefix = head % (self._index, piece.encode(), field.encode())
        return sent

    def _block(self, block: Mapping[str, Any]) -> bytes:
        self._index += 1
        self._open = str(block["type"])
        return _event("content_block_start", {"index": self._index, "content_block": block})

    def _delta(self, piece: Mapping[str, Any]) -> bytes:
        return _event("content_block_delta", {"index": self._index, "delta": piece})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return _event("content_block_stop", {"index": self._index})


class MessageBuilder:
    """Collects a turn's outputs into one whole answer."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._field = ""
        self._pieces: list[str] = []
        self._early: list[Any] = []
        self._refused = False

    def add(self, output: TextDelta | ReasoningDelta | BlockDelta | CallReady) -> None:
        """Take the next output."""
        if isinstance(output, CallReady):
            # What broke a schema may be passed on, what is no object may not: the API has no form for it.
            arguments = Raw(object_arguments(output.arguments))
            call = {"type": "tool_use", "id": fit_call_id(output.id), "name": output.name, "input": arguments}
            self._append(call)
        elif isinstance(output, TextDelta):
            text, refused = _shown(output)
            self._refused = self._refused or refused
            self._add("text", text)
        elif isinstance(output, BlockDelta):
            self._add_block(output.value)
        elif output.redacted:
            self._append({"type": "redacted_thinking", "data": output.redacted})
        else:
            self._add("thinking", output.text, output.signature)

    def encode(self, identity: Identity, finished: Finished) -> bytes:
        """The whole answer."""
        self._close()
        usage = encode_usage(finished.usage or Usage())
        message = _message(identity, self._blocks, usage=usage)
        return dumps({**_beside(finished), **message, **encode_stop(finished, refused=self._refused)})

    def _add(self, field: str, piece: str, signature: str = "") -> None:
        if not piece and not signature:
            return
        self._open(field)
        self._pieces.append(piece)
        if signature:
            self._blocks[-1]["signature"] = signature
            self._close()

    def _open(self, field: str) -> None:
        if self._field != field:
            self._append({"type": field, field: "", **({"signature": ""} if field == "thinking" else {})})
            self._field = field
        if field == "text" and self._early:
            self._blocks[-1]["citations"], self._early = self._early, []

    def _add_block(self, value: dict[str, Any]) -> None:
        kind = value.get("type")
        if kind == "content_block_stop":
            self._close()
        elif kind != "citations_delta":
            self._append(value)
        elif self._field == "text":
            self._blocks[-1].setdefault("citations", []).append(value.get("citation"))
        else:
            self._early.append(value.get("citation"))

    def _append(self, block: dict[str, Any]) -> None:
        self._close()
        self._blocks.append(block)

    def _close(self) -> None:
        if self._field:
            self._blocks[-1][self._field] = "".join(self._pieces)
            self._pieces.clear()
            self._field = ""


def encode_stop(finished: Finished, *, refused: bool = False) -> dict[str, Any]:
    """The fields that say why an answer ended: the backend's own word where it still holds.

    ``refused``: it was a refusal, which other protocols do not name as the reason.
    """
    extra = finished.extra if finished.protocol is Protocol.ANTHROPIC else {}
    fields = {name: value for name, value in extra.items() if name not in ("stop_reason", "stop_sequence")}
    own, sequence = extra.get("stop_reason"), extra.get("stop_sequence")
    if finished.protocol is Protocol.OPENAI and finished.reason == "stop":
        # vLLM says which of the caller's texts it stopped at; a number is a token of its own.
        stopped = (finished.extra.get("choice") or {}).get("stop_reason")
        sequence = stopped if isinstance(stopped, str) else None
        own = "stop_sequence" if sequence is not None else None
    if own is not None and _SAME.get(own, own) == finished.reason:
        reason = own
    else:
        reason = _REASONS.get(finished.reason, "end_turn")
        sequence = None
    if refused and reason == "end_turn":
        reason = "refusal"
    return {"stop_reason": reason, "stop_sequence": sequence, **fields}


def encode_usage(usage: Usage) -> dict[str, Any]:
    """The API's usage object: what came from the cache, or went into it, is not among ``input_tokens``."""
    fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_creation_tokens
    return {
        **{name: value for name, value in usage.extra.items() if name not in _OPENAI_COUNTS},
        "input_tokens": max(fresh, 0),
        "cache_creation_input_tokens": usage.cache_creation_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
    }


def _shown(delta: TextDelta) -> tuple[str, bool]:
    """The text that a piece shows, and whether it is one of a refusal: chat completions have a field for that."""
    refusal = (delta.extra.get("delta") or {}).get("refusal") if delta.extra else None
    return (delta.text + refusal, True) if isinstance(refusal, str) and refusal else (delta.text, False)


def error_type(status: int) -> str:
    """The API's ``error.type`` for an HTTP status."""
    return _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")


def encode_error(message: str, *, kind: str) -> bytes:
    """An error body as Anthropic's SDKs parse it."""
    return dumps({"type": "error", "error": {"type": kind, "message": message}})


def encode_error_event(body: bytes) -> bytes:
    """An error body as the last event of a stream."""
    return b"event: error\ndata: %b\n\n" % body


def _message(identity: Identity, blocks: list[dict[str, Any]], *, usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": identity.id,
        "type": "message",
        "role": "assistant",
        "model": identity.model,
        "content": blocks,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _beside(finished: Finished) -> dict[str, Any]:
    """Fields of the whole answer that a server of another protocol added (``timings``)."""
    if finished.protocol is Protocol.ANTHROPIC:
        return {}
    return {name: value for name, value in finished.extra.items() if name != "choice"}


def _event(kind: str, fields: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), dumps({"type": kind, **fields}))
