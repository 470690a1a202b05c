"""The Responses door: what Codex and OpenAI's newer SDKs speak.

Every request is rewritten as a chat, whatever the backend: so it is guarded, and answered in the same form by
servers that know this API, know half of it, or do not know it at all.
"""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

from msgspec import Raw

from forge.core.events import Finished
from forge.core.request import Request
from forge.proxy.door import Door, Progress, Reply, Visible, readable
from forge.proxy.error_response import Failure
from forge.proxy.openai_door import error_body
from forge.proxy.response_store import ResponseStore
from forge.wire.json_text import dumps
from forge.wire.openai import Identity
from forge.wire.responses_emit import ResponseEncoder
from forge.wire.responses_request import ResponsesRequest, decode_request

_log = logging.getLogger("forge.proxy")
_MOST_NOTED = 256
_TOO_LONG = frozenset({"exceed_context_size_error", "context_length_exceeded"})


class ResponsesDoor(Door):
    """``POST /v1/responses``, for one service: ``store`` has what earlier responses said."""

    path = "/v1/responses"
    forwards = False

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._noted: set[tuple[str, ...]] = set()

    def decode(self, body: bytes) -> Request:
        """Read a Responses body. What no backend is told is named in the log, once for each such set."""
        request = decode_request(readable(body), self._store)
        left_out = request.left_out
        if left_out and left_out not in self._noted and len(self._noted) < _MOST_NOTED:
            self._noted.add(left_out)
            # repr: names in a request must not be able to forge log lines.
            _log.info("a Responses request asks for what no backend is told: %r", ", ".join(left_out))
        return request

    def reply(self, request: Request, progress: Progress) -> Reply:
        """An encoder of a response."""
        assert isinstance(request, ResponsesRequest)
        return _ResponsesReply(request, progress, self._store)

    def error_body(self, failure: Failure) -> bytes:
        """OpenAI's error body, which is the same in both of its APIs."""
        return error_body(failure)

    def error_event(self, failure: Failure) -> bytes:
        """The error event of a stream in which no response began."""
        error = _error(failure)
        fields = {**error, "type": "error", "sequence_number": 0, "error": error}
        return b"event: error\ndata: %b\n\n" % dumps(fields)


class _ResponsesReply(Reply):
    def __init__(self, request: ResponsesRequest, progress: Progress, store: ResponseStore) -> None:
        self._request = request
        self._progress = progress
        self._store = store
        self._encoder: ResponseEncoder | None = None
        self._served = False

    def push(self, output: Visible) -> bytes:
        encoder, begun = self._begun()
        return begun + encoder.push(output)

    def finish(self, finished: Finished) -> bytes:
        encoder, begun = self._begun()
        events = encoder.finish(finished, int(time.time()))
        self._keep(encoder)
        return begun + events

    def beat(self) -> bytes:
        # Not a comment: Codex counts events only, and gives up a stream that is silent for too long.
        encoder, begun = self._begun()
        return begun or encoder.beat()

    def whole(self, outputs: list[Visible], finished: Finished) -> bytes:
        encoder, _ = self._begun()
        for output in outputs:
            encoder.push(output)
        encoder.finish(finished, int(time.time()))
        self._keep(encoder)
        return encoder.whole

    def fail(self, failure: Failure) -> bytes:
        encoder, begun = self._begun()
        return begun + encoder.fail(_error(failure), code=_response_code(failure))

    def _begun(self) -> tuple[ResponseEncoder, bytes]:
        """The encoder, and its first events where they were not given out yet."""
        started, encoder = self._progress.started, self._encoder
        if encoder is not None and (self._served or started is None):
            return encoder, b""
        identity = Identity.of(
            started, id="", model=self._request.model or "default", created=int(time.time())
        )
        self._served = started is not None
        if encoder is not None:
            encoder.serve(identity)
            return encoder, b""
        encoder = self._encoder = ResponseEncoder(self._request, identity, secrets.token_hex(24))
        return encoder, encoder.begin()

    def _keep(self, encoder: ResponseEncoder) -> None:
        request = self._request
        if request.store:
            self._store.add(
                encoder.id,
                encoder.whole,
                given=request.items,
                output=[(item["id"], Raw(dumps(item))) for item in encoder.output],
                previous=request.previous,
            )


def _error(failure: Failure) -> dict[str, Any]:
    return {"message": failure.message, "type": failure.type, "param": failure.param, "code": failure.code}


def _response_code(failure: Failure) -> str:
    """The code of a failed response, of the few that clients act upon."""
    if failure.type in _TOO_LONG or failure.code in _TOO_LONG:
        return "context_length_exceeded"
    if failure.status == 429:
        return "rate_limit_exceeded"
    return "invalid_prompt" if failure.status in (400, 422) else "server_error"
