"""The chat-completions door: what OpenAI's SDKs and everything shaped like them speak."""

from __future__ import annotations

import secrets
import time

import msgspec

from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, Started
from forge.core.request import Protocol, Request
from forge.proxy.door import Door, Progress, Reply, Visible, readable
from forge.proxy.error_response import Failure
from forge.wire.openai import (
    DONE_EVENT,
    AnswerBuilder,
    ChunkEncoder,
    FunctionChunkEncoder,
    Identity,
    decode_request,
    encode_error,
    encode_error_event,
    with_function_call,
)


class OpenAIDoor(Door):
    """``POST /v1/chat/completions``."""

    path = "/v1/chat/completions"

    def decode(self, body: bytes) -> Request:
        """Read a chat-completions body."""
        return decode_request(readable(body))

    def reply(self, request: Request, progress: Progress) -> Reply:
        """An encoder of chat-completions answers."""
        return _OpenAIReply(request, progress)

    def error_body(self, failure: Failure) -> bytes:
        """``{"error": {"message", "type", "param", "code"}}``, or the backend's own such body."""
        return error_body(failure)

    def error_event(self, failure: Failure) -> bytes:
        """The error body as one event; SDKs raise it. No ``[DONE]`` follows, since nothing is done."""
        # An event is one line of data, and a backend's own body may be pretty-printed.
        return encode_error_event(b" ".join(self.error_body(failure).splitlines()))


def error_body(failure: Failure) -> bytes:
    """An error body as OpenAI's SDKs parse it, be it the backend's own."""
    own = failure.body_in(Protocol.OPENAI)
    if own is not None:
        return own
    return encode_error(failure.message, kind=failure.type, param=failure.param, code=failure.code)


class _OpenAIReply(Reply):
    def __init__(self, request: Request, progress: Progress) -> None:
        self._request = request
        self._progress = progress
        self._encoder: ChunkEncoder | None = None
        self._calls = 0

    def push(self, output: Visible) -> bytes:
        encoder = self._encoder
        if encoder is None:
            encoder = self._begin(self._progress.started)
            return encoder.role() + self._event(encoder, output)
        return self._event(encoder, output)

    def finish(self, finished: Finished) -> bytes:
        first = b""
        encoder = self._encoder
        if encoder is None:
            encoder = self._begin(finished.started)
            first = encoder.role()
        last = encoder.finish(finished)
        if self._wants_usage():
            last += encoder.usage(finished)
        return first + last + DONE_EVENT

    def whole(self, outputs: list[Visible], finished: Finished) -> bytes:
        answer = self._answer(outputs, finished)
        if self._request.functions and any(isinstance(output, CallReady) for output in outputs):
            return with_function_call(answer)
        return answer

    def _answer(self, outputs: list[Visible], finished: Finished) -> bytes:
        own = finished.body_in(Protocol.OPENAI)
        if own is not None:
            return own
        builder = AnswerBuilder()
        for output in outputs:
            builder.add(output)
        return builder.encode(self._identity(finished.started), finished)

    def _event(self, encoder: ChunkEncoder, output: Visible) -> bytes:
        if isinstance(output, CallReady):
            self._calls += 1
            return encoder.call(self._calls - 1, output)
        if isinstance(output, ReasoningDelta):
            return encoder.reasoning(output)
        if isinstance(output, BlockDelta):
            return b""
        return encoder.text(output)

    def _begin(self, started: Started | None) -> ChunkEncoder:
        kind = FunctionChunkEncoder if self._request.functions else ChunkEncoder
        self._encoder = kind(self._identity(started))
        return self._encoder

    def _identity(self, started: Started | None) -> Identity:
        return Identity.of(
            started,
            id=f"chatcmpl-{secrets.token_hex(16)}",
            model=self._request.model or "default",
            created=int(time.time()),
        )

    def _wants_usage(self) -> bool:
        raw = self._request.options.get("stream_options")
        if raw is None:
            return False
        try:
            options = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return False
        return isinstance(options, dict) and options.get("include_usage") is True
