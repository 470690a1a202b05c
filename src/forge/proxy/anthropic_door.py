"""The Messages door: what Claude Code, Anthropic's SDKs and everything shaped like them speak."""

from __future__ import annotations

import re
import secrets

from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, Started
from forge.core.request import Protocol, Request
from forge.proxy.door import Door, Progress, Reply, Visible, readable
from forge.proxy.error_response import Failure
from forge.wire.anthropic import (
    ERROR_TYPES,
    PING_EVENT,
    EventEncoder,
    Identity,
    MessageBuilder,
    decode_request,
    encode_error,
    encode_error_event,
    error_type,
)

_OVERFLOWS = (
    re.compile(r"\((?P<prompt>\d+) tokens\) exceeds the available context size \((?P<most>\d+) tokens\)"),
    re.compile(
        r"maximum context length is (?P<most>\d+) tokens.*?(?P<prompt>\d+) (?:input )?tokens", re.DOTALL
    ),
)
"""How llama-server, and vLLM and OpenAI, say it."""


class AnthropicDoor(Door):
    """``POST /v1/messages``."""

    path = "/v1/messages"
    protocol = Protocol.ANTHROPIC
    key_slot = "x-api-key"
    heartbeat = PING_EVENT
    id_headers = (b"x-request-id", b"request-id")

    def decode(self, body: bytes) -> Request:
        """Read a Messages body."""
        return decode_request(readable(body))

    def reply(self, request: Request, progress: Progress) -> Reply:
        """An encoder of messages."""
        return _AnthropicReply(request, progress)

    def new_call_id(self) -> str:
        """An id in the form of Anthropic's own."""
        return f"toolu_{secrets.token_hex(12)}"

    def error_body(self, failure: Failure) -> bytes:
        """``{"type": "error", "error": {"type", "message"}}``, or the backend's own such body."""
        own = failure.body_in(Protocol.ANTHROPIC)
        if own is not None:
            return own
        given = failure.protocol is Protocol.ANTHROPIC and failure.type in ERROR_TYPES
        kind = failure.type if given else error_type(failure.status)
        return encode_error(_message(failure), kind=kind)

    def error_event(self, failure: Failure) -> bytes:
        """The error body as the event that ends a stream; SDKs raise it."""
        # An event is one line of data, and a backend's own body may be pretty-printed.
        return encode_error_event(b" ".join(self.error_body(failure).splitlines()))


def _message(failure: Failure) -> str:
    """The failure's sentence; a prompt that is too long in the words by which Claude Code knows it."""
    message = failure.message
    found = (overflow.search(message) for overflow in _OVERFLOWS) if failure.status == 400 else ()
    counts = next((match for match in found if match), None)
    if counts is None:
        return message
    return f"prompt is too long: {counts['prompt']} tokens > {counts['most']} maximum; {message}"


class _AnthropicReply(Reply):
    def __init__(self, request: Request, progress: Progress) -> None:
        self._request = request
        self._progress = progress
        self._encoder: EventEncoder | None = None

    def push(self, output: Visible) -> bytes:
        encoder = self._encoder
        if encoder is None:
            encoder = self._begin(self._progress.started)
            return encoder.start() + _piece(encoder, output)
        return _piece(encoder, output)

    def finish(self, finished: Finished) -> bytes:
        if self._encoder is not None:
            return self._encoder.finish(finished)
        encoder = self._begin(finished.started)
        return encoder.start() + encoder.finish(finished)

    def whole(self, outputs: list[Visible], finished: Finished) -> bytes:
        own = finished.body_in(Protocol.ANTHROPIC)
        if own is not None:
            return own
        builder = MessageBuilder()
        for output in outputs:
            builder.add(output)
        return builder.encode(self._identity(finished.started), finished)

    def _begin(self, started: Started | None) -> EventEncoder:
        usage = started.usage if started is not None else None
        self._encoder = EventEncoder(self._identity(started), usage)
        return self._encoder

    def _identity(self, started: Started | None) -> Identity:
        own = f"msg_{secrets.token_hex(12)}"
        return Identity.of(started, id=own, model=self._request.model or "default")


def _piece(encoder: EventEncoder, output: Visible) -> bytes:
    if isinstance(output, CallReady):
        return encoder.call(output)
    if isinstance(output, ReasoningDelta):
        return encoder.reasoning(output)
    if isinstance(output, BlockDelta):
        return encoder.block(output)
    return encoder.text(output)
