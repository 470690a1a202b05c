"""Answers of Anthropic's Messages API, streamed or whole, decoded into deltas.

A whole answer is read as the stream that would have brought it. Stop reasons get their OpenAI names; where that
loses something (``stop_sequence``, ``pause_turn``) the original stays in ``Finish.extra``. Prompt tokens include
those that came from the cache, as they do everywhere else in Forge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from forge.core.events import BlockDelta, CallDelta, Delta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.core.request import Protocol
from forge.errors import BackendError, StreamError
from forge.wire.backend_errors import error_from_answer
from forge.wire.json_text import dumps, loads, well_formed

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_PLAIN_REASONS = frozenset({"end_turn", "tool_use", "max_tokens"})
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status that an error event would have had, had it come in time."""
_ENVELOPE = frozenset({
    "id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage",
})  # fmt: skip
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class EventDecoder:
    """Decodes the data of one stream's events. Feed each event's data, then call :meth:`end` when it is over."""

    def __init__(self) -> None:
        self._started = False
        self._calls: dict[int, int] = {}
        self._started_calls = 0
        self._unwritten: dict[int, Any] = {}
        self._others: dict[int, tuple[dict[str, Any], list[str]]] = {}
        """Open blocks of the server's own tools, with the pieces of their input."""
        self._in_text = False
        self._counts: dict[str, int] = {}
        self._usage: dict[str, Any] = {}
        self._reason: str | None = None
        self._sequence: str | None = None
        self._extra: dict[str, Any] = {}
        self.done = False

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas of one event; none once the stream has said that it is done, in whatever pieces it comes.

        Raises:
            BackendError: it tells of an error, or is no object.
        """
        return [] if self.done else self.feed_object(_object(data))

    def feed_object(self, event: dict[str, Any]) -> list[Delta]:
        """As :meth:`feed`, decoded already."""
        kind = event.get("type")
        index = event.get("index")
        index = index if isinstance(index, int) else 0
        if kind == "content_block_delta":
            return self._piece(index, _dict(event, "delta"))
        if kind == "content_block_start":
            return self._block(index, _dict(event, "content_block"))
        if kind == "content_block_stop":
            return self._stop(index)
        if kind == "message_start":
            return self._start(_dict(event, "message"))
        if kind == "message_delta":
            self._last_words(_dict(event, "delta"), event.get("usage"))
        elif kind == "message_stop":
            self.done = True
        elif kind == "error" or event.get("error") or isinstance(event.get("message"), str):
            raise _error(event)
        return []

    def end(self) -> list[Delta]:
        """The last deltas: usage and finish.

        Raises:
            StreamError: nothing in the stream said that it was finished.
        """
        if not self.done:
            raise StreamError("the backend's stream ended before the answer was finished")
        deltas: list[Delta] = []
        for index in (*self._unwritten, *self._others):
            deltas += self._stop(index)
        if self._counts:
            deltas.append(self._counted())
        given = self._reason or ("tool_use" if self._calls else "end_turn")
        extra: dict[str, Any] = {}
        if given not in _PLAIN_REASONS:
            extra["stop_reason"] = given
        if self._sequence is not None:
            extra["stop_sequence"] = self._sequence
        deltas.append(
            Finish(
                reason=_REASONS.get(given, given), extra={**self._extra, **extra}, protocol=Protocol.ANTHROPIC
            )
        )
        return deltas

    def _start(self, message: dict[str, Any]) -> list[Delta]:
        self._count(message.get("usage"))
        if self._started:
            return []
        self._started = True
        usage = self._counted() if self._counts else None
        return [Started(id=_str(message.get("id")), model=_str(message.get("model")), usage=usage)]

    def _block(self, index: int, block: dict[str, Any]) -> list[Delta]:
        kind = block.get("type")
        if kind == "tool_use":
            # Another start under the same index is another call.
            deltas = self._stop(index)
            number = self._calls[index] = self._started_calls
            self._started_calls += 1
            # Some servers give the whole input at once, most an empty one to begin with.
            self._unwritten[index] = block.get("input")
            name = block.get("name")
            name = well_formed(name) if isinstance(name, str) else ""
            return [*deltas, CallDelta(index=number, id=_str(block.get("id")), name=name)]
        if kind == "text":
            return self._text_block(block)
        self._in_text = False
        if kind == "thinking":
            return _thinking(block.get("thinking"), block.get("signature"))
        if kind == "redacted_thinking":
            data = block.get("data")
            return [ReasoningDelta("", redacted=data)] if isinstance(data, str) and data else []
        if isinstance(kind, str):
            self._others[index] = (block, [])
        return []

    def _text_block(self, block: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        if self._in_text:
            # Citations belong to one text of several.
            deltas.append(BlockDelta({"type": "content_block_stop"}, Protocol.ANTHROPIC))
        self._in_text = True
        deltas += _text(block.get("text"))
        citations = block.get("citations")
        for citation in citations if isinstance(citations, list) else ():
            piece = {"type": "citations_delta", "citation": citation}
            deltas.append(BlockDelta(piece, Protocol.ANTHROPIC))
        return deltas

    def _piece(self, index: int, delta: dict[str, Any]) -> list[Delta]:
        kind = delta.get("type")
        if kind == "text_delta":
            return _text(delta.get("text"))
        if kind == "thinking_delta":
            return _thinking(delta.get("thinking"), None)
        if kind == "signature_delta":
            return _thinking(None, delta.get("signature"))
        if kind == "input_json_delta" and index in self._calls:
            piece = delta.get("partial_json")
            if isinstance(piece, str) and piece:
                self._unwritten.pop(index, None)
                return [CallDelta(index=self._calls[index], arguments=well_formed(piece))]
        elif kind == "input_json_delta" and index in self._others:
            self._others[index][1].append(str(delta.get("partial_json") or ""))
        elif kind == "citations_delta":
            return [BlockDelta(delta, Protocol.ANTHROPIC)]
        return []

    def _stop(self, index: int) -> list[Delta]:
        if index in self._others:
            return [_other(*self._others.pop(index))]
        given = self._unwritten.pop(index, None)
        if given is None:
            return []
        return [CallDelta(index=self._calls[index], arguments=dumps(given).decode())]

    def _last_words(self, delta: dict[str, Any], usage: Any) -> None:
        self._reason = _str(delta.get("stop_reason")) or self._reason
        self._sequence = _str(delta.get("stop_sequence")) or self._sequence
        self._extra.update({n: v for n, v in delta.items() if n not in _ENVELOPE and v is not None})
        self._count(usage)

    def _count(self, usage: Any) -> None:
        """Counts are running totals: the last one that was given stands."""
        if not isinstance(usage, dict):
            return
        for name, value in usage.items():
            if name in _COUNTS:
                if isinstance(value, int | float) and not isinstance(value, bool):
                    self._counts[name] = int(value)
            elif value is not None:
                self._usage[name] = value

    def _counted(self) -> Usage:
        fresh, written, read, created = (
            self._counts.get(name, 0)
            for name in (
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            )
        )
        return Usage(
            prompt_tokens=fresh + read + created,
            completion_tokens=written,
            cached_tokens=read,
            cache_creation_tokens=created,
            extra=dict(self._usage),
        )


def decode_response(body: bytes) -> list[Delta]:
    """The deltas of a whole answer; the last is a ``Finish`` that carries ``body`` itself.

    Raises:
        BackendError: the body is an error, no JSON object, or no message.
    """
    answer = _object(body)
    if not isinstance(answer.get("content"), list):
        if "error" in answer or answer.get("type") == "error":
            raise _error(answer)
        raise BackendError(502, "the answer has no content", raw_body=body.decode("utf-8", "replace"))
    decoder = EventDecoder()
    deltas = [delta for event in _as_events(answer) for delta in decoder.feed_object(event)]
    *last, finish = decoder.end()
    return [*deltas, *last, msgspec.structs.replace(cast("Finish", finish), body=body)]


def _as_events(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": answer}
    for index, block in enumerate(answer["content"]):
        if isinstance(block, dict):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": answer}
    yield {"type": "message_stop"}


def _other(block: dict[str, Any], pieces: list[str]) -> Delta:
    """A block that nothing here is made of, whole."""
    written = "".join(pieces)
    if written:
        try:
            block = {**block, "input": loads(written)}
        except ValueError:
            block = {**block, "input": {}}
    return BlockDelta(block, Protocol.ANTHROPIC)


def _text(text: Any) -> list[Delta]:
    return [TextDelta(well_formed(text))] if isinstance(text, str) and text else []


def _thinking(text: Any, signature: Any) -> list[Delta]:
    text = text if isinstance(text, str) else ""
    # Servers that only imitate the API send empty signatures.
    signature = signature if isinstance(signature, str) else ""
    return [ReasoningDelta(well_formed(text), signature=signature)] if text or signature else []


def _error(event: dict[str, Any]) -> BackendError:
    inner = event.get("error")
    kind = inner.get("type") if isinstance(inner, dict) else None
    status = _STATUSES.get(kind) if isinstance(kind, str) else None
    return error_from_answer(status, event)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        detail = "the backend's answer is not a JSON object (is this the URL of a Messages API?)"
        raise BackendError(502, detail, raw_body=data.decode("utf-8", "replace"))
    return value


def _dict(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
