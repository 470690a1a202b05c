"""Chat-completions answers, streamed or whole, decoded into deltas.

One reader serves both: a whole answer is a chunk whose delta is called ``message``. Fields without a neutral name
survive in ``extra``: those of the answer in ``Started.extra`` (marks in the first chunk: strings and flags, such
as ``system_fingerprint``) and ``Finish.extra`` (all others, such as ``timings``; the last value wins), those of a choice beside the text they came with (``TextDelta.extra``, for example
``logprobs``), those of its delta under the key ``delta`` there (``refusal``).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from forge.core.events import Delta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import BackendError, StreamError
from forge.wire.backend_errors import error_from_answer
from forge.wire.json_text import dumps, loads, well_formed
from forge.wire.openai_calls import CallSlots
from forge.wire.openai_request import REASONING_FIELDS
from forge.wire.openai_usual import read_usual

DONE = b"[DONE]"
_ENVELOPE = frozenset({"id", "model", "created", "object", "choices", "usage"})
_CHOICE = frozenset({"index", "delta", "message", "finish_reason"})
_COUNTS = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_DELTA = frozenset({"role", "content", "tool_calls", "function_call", *REASONING_FIELDS})


class _OnlyText(Struct, forbid_unknown_fields=True):
    content: str


class _OnlyChoice(Struct, forbid_unknown_fields=True):
    delta: _OnlyText
    index: Literal[0] = 0
    finish_reason: None = None
    logprobs: None = None
    stop_reason: None = None
    token_ids: None = None


class _TextChunk(Struct, forbid_unknown_fields=True):
    """The chunk that nearly all chunks are: one piece of text and nothing new beside it."""

    choices: tuple[_OnlyChoice]
    id: str | None = None
    model: str | None = None
    created: int | None = None
    object: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    usage: None = None


_decode_text_chunk = msgspec.json.Decoder(_TextChunk).decode
# After so many chunks in a row that are no plain text chunks, trying costs more than it saves.
_MAX_MISSES = 8


class ChunkDecoder:
    """Decodes the data of one stream's events. Feed each event's data, then call :meth:`end` when it is over.

    The finish reason is held back until the end, since usage and timings follow it on the wire.
    """

    def __init__(self) -> None:
        self._started: Started | None = None
        self._calls = CallSlots()
        self._half: dict[str, str] = {}
        self._usage: dict[str, Any] | None = None
        self._extra: dict[str, Any] = {}
        self._reason: str | None = None
        self._misses = 0
        self.done = False

    @property
    def says_why(self) -> bool:
        """Whether a reason for the end has come."""
        return self._reason is not None

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas of one event; none once the stream has said that it is done, in whatever pieces it comes.

        Raises:
            BackendError: the event is an error, or no JSON object.
        """
        if self.done:
            return []
        if self._started is not None and self._misses < _MAX_MISSES:
            try:
                text = _decode_text_chunk(data).choices[0].delta.content
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._misses += 1
            else:
                self._misses = 0
                if not self._half:
                    return [TextDelta(text)] if text else []
        if data == DONE:
            self.done = True
            return []
        if not data.strip():
            return []
        return self.feed_object(_object(data))

    def feed_object(self, chunk: dict[str, Any]) -> list[Delta]:
        """The deltas of one decoded chunk."""
        deltas: list[Delta] = []
        if chunk.get("error") is not None:
            raise error_from_answer(None, chunk)
        self._envelope(chunk, deltas)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        choices = chunk.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict) and not choice.get("index"):
                    self._choice(choice, deltas)
        return deltas

    def end(self) -> list[Delta]:
        """The last deltas: what was held back, usage, finish.

        Raises:
            StreamError: nothing in the stream said that it was finished.
        """
        if self._reason is None and not self.done:
            raise StreamError("the backend's stream ended before the answer was finished")
        deltas: list[Delta] = []
        for field, half in self._half.items():
            self._text(field, well_formed(half), None, deltas)
        deltas += self._calls.end()
        if self._usage is not None:
            deltas.append(read_usage(self._usage))
        reason = self._reason or ("tool_calls" if self._calls.any else "stop")
        deltas.append(Finish(reason=reason, extra=self._extra))
        return deltas

    def _envelope(self, chunk: dict[str, Any], deltas: list[Delta]) -> None:
        started = self._started
        marks: dict[str, Any] = {} if started is None else started.extra
        for name, value in chunk.items():
            if name in _ENVELOPE or value is None:
                continue
            if started is None and isinstance(value, str | bool):
                marks[name] = value
            elif name not in marks or marks[name] != value:
                self._extra[name] = value
        if started is None:
            self._started = Started(
                id=_str(chunk.get("id")),
                model=_str(chunk.get("model")),
                created=_int(chunk.get("created")) or None,
                extra=marks,
            )
            deltas.append(self._started)

    def _choice(self, choice: dict[str, Any], deltas: list[Delta]) -> None:
        extra = None
        for name, value in choice.items():
            if name not in _CHOICE and value is not None:
                extra = extra or {}
                extra[name] = value
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, extra, deltas)
        elif isinstance(choice.get("text"), str):  # a legacy completion's choice
            self._piece("content", choice["text"], None, deltas)
        elif extra is not None:
            self._extra["choice"] = extra
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason

    def _delta(self, delta: dict[str, Any], extra: dict[str, Any] | None, deltas: list[Delta]) -> None:
        content: Any = None
        other = None
        thought = False
        for name, value in delta.items():
            if value is None or name == "role":
                continue
            if name == "content":
                content = value
            elif name in REASONING_FIELDS:
                # vLLM has sent the same thought under two names at once.
                if isinstance(value, str) and value and not thought:
                    thought = True
                    self._piece(name, value, None, deltas)
            elif name not in _DELTA:
                other = other or {}
                other[name] = value
        if other is not None:
            extra = {**(extra or {}), "delta": other}
        text = content if isinstance(content, str) else _flatten(content)
        if text or extra is not None:
            self._piece("content", text, extra, deltas)
        if "tool_calls" in delta or "function_call" in delta:
            self._call_pieces(delta, deltas)

    def _call_pieces(self, delta: dict[str, Any], deltas: list[Delta]) -> None:
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:
                if isinstance(call, dict):
                    deltas += self._calls.feed(call)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            deltas += self._calls.feed({"index": 0, "function": legacy})

    def _piece(self, field: str, text: str, extra: dict[str, Any] | None, deltas: list[Delta]) -> None:
        """A piece of text. Half an emoji at its end waits for the other half."""
        if field in self._half:
            text = self._half.pop(field) + text
        if text and not text.isascii():
            if "\ud800" <= text[-1] <= "\udbff":
                self._half[field] = text[-1]
                text = text[:-1]
            text = well_formed(text)
        self._text(field, text, extra, deltas)

    def _text(self, field: str, text: str, extra: dict[str, Any] | None, deltas: list[Delta]) -> None:
        if field == "content":
            if text or extra:
                deltas.append(TextDelta(text, extra))
        elif text:
            deltas.append(ReasoningDelta(text, field))


def decode_response(body: bytes) -> list[Delta]:
    """The deltas of a whole answer; the last is a ``Finish`` that carries ``body`` itself, if that says why it ended.

    Raises:
        BackendError: the body is an error, no JSON object, or has no choices.
    """
    usual = read_usual(body)
    if usual is not None:
        return usual
    answer = _object(body)
    decoder = ChunkDecoder()
    deltas = decoder.feed_object(answer)
    if not isinstance(answer.get("choices"), list) or not answer["choices"]:
        raise BackendError(500, "response has no choices", raw_body=body.decode("utf-8", "replace"))
    decoder.done = True
    deltas += decoder.end()
    finish = deltas[-1]
    assert isinstance(finish, Finish)
    # Without a reason in it clients cannot tell a call from a text; ours is one that was read from what is there.
    kept = body if decoder.says_why else None
    deltas[-1] = Finish(reason=finish.reason, extra=finish.extra, body=kept)
    return deltas


def read_usage(usage: dict[str, Any]) -> Usage:
    """OpenAI's usage object. ``extra`` keeps its detail objects, and a total that is more than the sum."""
    prompt = _int(usage.get("prompt_tokens"))
    completion = _int(usage.get("completion_tokens"))
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    extra: dict[str, Any] = {}
    if not usage.keys() <= _COUNTS:
        extra = {name: value for name, value in usage.items() if value is not None and name not in _COUNTS}
    total = _int(usage.get("total_tokens"))
    if total not in (0, prompt + completion):
        extra["total_tokens"] = total
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=_int(cached), extra=extra)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        detail = "the backend's answer is not a JSON object (is this the URL of a chat-completions API?)"
        raise BackendError(502, detail, raw_body=data.decode("utf-8", "replace"))
    return value


def _flatten(content: Any) -> str:
    if not isinstance(content, list):
        return "" if content is None else dumps(content).decode()
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _int(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) else 0
