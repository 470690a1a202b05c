"""What is known of one request once it is over: one line in the log, and the tokens that it took.

A report stands between a request's handler and its ``send``: it sees the status and the end of the answer, and gives
the answer its ``x-request-id``, and what the backend's answer says of itself.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from itertools import chain, count, repeat
from typing import Any, Final

from forge.clients.heard import heard
from forge.core.events import Finished, Retrying, Usage
from forge.errors import BackendError, ForgeError
from forge.proxy.answer_usage import answering_model, spent
from forge.proxy.body import Message, Send
from forge.proxy.error_response import Failure
from forge.proxy.told_headers import IDS, told, with_told

_log = logging.getLogger("forge.proxy")
_EXPECTED: Final = (ForgeError, TimeoutError)
_THIS_PROCESS: Final = secrets.token_hex(4)
_numbers: Final = count(1)
_KEPT_BYTES: Final = 8 * 1024
"""Of the beginning and of the end of a forwarded stream; its usage is in one of them."""
_LONGEST_ID: Final = 128


_RECORD: Final = vars(logging.LogRecord(_log.name, logging.INFO, __file__, 0, "", None, None, "write"))


class RequestLine(logging.LogRecord):
    """The entry of one request in the log; ``fields`` is what it says, by name.

    ``LogRecord`` finds out file, thread and process of each entry anew, which costs more than all else about it.
    """

    def __init__(self, level: int, line: str, fields: dict[str, Any]) -> None:
        self.__dict__ = own = _RECORD.copy()
        own["levelno"] = level
        own["levelname"] = "INFO" if level == logging.INFO else "WARNING"
        own["msg"] = line
        own["created"] = now = time.time()
        own["msecs"] = now % 1 * 1000
        own["process"] = os.getpid()
        own["thread"] = threading.get_ident()
        own["fields"] = fields


class Report:
    """One request at the door ``path``. ``send`` is to be used in place of the one that the server gave."""

    __slots__ = (
        "_began",
        "_first",
        "_id_headers",
        "_last",
        "_send",
        "_spent",
        "backend_id",
        "delivered",
        "failure",
        "finished",
        "forwarded",
        "id",
        "model",
        "path",
        "retries",
        "status",
        "stream",
        "tells",
    )

    def __init__(self, path: str, send: Send, id_headers: tuple[bytes, ...] = (b"x-request-id",)) -> None:
        heard.set(())  # a pipelined request begins in the context of the one before it
        self._id_headers = id_headers
        self.id = f"req_{_THIS_PROCESS}{next(_numbers):08x}"
        self.path = path
        self.model: str | None = None
        self.stream = False
        self.forwarded = False
        """Whether the backend's bytes pass as they are; then the tokens are looked up in them."""
        self.finished: Finished | None = None
        self.tells = False
        """Whether the answer is one of the backend's, as far as is known, so that its limits and its id are the caller's."""
        self.backend_id: str | None = None
        self.failure: Failure | None = None
        self.status = 0
        self.delivered = False
        self.retries = 0
        self._send = send
        self._began = time.monotonic()
        self._first = b""
        self._last = b""
        self._spent: Usage | None = None

    async def send(self, message: Message) -> None:
        """Send one ASGI message on, and remember what it says."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *zip(self._id_headers, repeat(self.id.encode()))]
            if self.tells and (self.failure is not None or not self.retries):
                self._tell(message)
            await self._send(message)
            return
        if self.forwarded:
            self._keep(message.get("body", b""))
        await self._send(message)
        if not message.get("more_body", False):
            self.delivered = True

    def retrying(self, output: Retrying) -> None:
        """An attempt was rejected."""
        self.retries += 1
        _log.info("%s attempt %d rejected (%s), asking again", self.id, output.attempt, output.reason)

    def fail(self, error: Exception, failure: Failure) -> None:
        """The request ends with ``failure``, because of ``error``."""
        self.failure = failure
        self.tells = isinstance(error, BackendError)
        if not isinstance(error, _EXPECTED):
            _log.error("%s internal error", self.id, exc_info=error)

    @property
    def served_model(self) -> str | None:
        """The model that the request named; else the one that the backend says it is."""
        return self.model if self.model is not None else self.answered_model

    @property
    def answered_model(self) -> str | None:
        """The model that the backend says it is."""
        if self.forwarded:
            return answering_model(self._first)
        started = self.finished.started if self.finished is not None else None
        return started.model if started is not None else None

    @property
    def usage(self) -> Usage | None:
        """Tokens of the whole request."""
        if self.finished is not None:
            return self.finished.usage
        if self._spent is None and self.forwarded:
            self._spent = spent(self._first, self._last)
        return self._spent

    @property
    def last_usage(self) -> Usage | None:
        """Tokens of the last attempt."""
        if self.finished is not None and self.finished.attempts:
            return self.finished.attempts[-1].usage
        return self.usage

    def write(self) -> None:
        """Write the request's line: at info, or as a warning where it failed."""
        level = logging.INFO if self.failure is None else logging.WARNING
        if not _log.isEnabledFor(level):
            return
        seconds = round(time.monotonic() - self._began, 3)
        outcome = "" if self.delivered or self.failure is not None else "client went away"
        details = self._details()
        fields = {"request": self.id, "path": self.path, "status": self.status, **details}
        if outcome:
            fields["outcome"] = outcome
        fields["seconds"] = seconds
        # repr: what a client or a backend wrote must not look like a part of the line.
        shown = ("%s=%r " * len(details)) % tuple(chain.from_iterable(details.items()))
        line = f"{self.id} {self.path} {self.status or outcome} {shown}{seconds:.2f}s"
        _log.handle(RequestLine(level, line, fields))

    def _tell(self, message: Message) -> None:
        """Put what the backend's last answer says of itself into the head of ours."""
        backends = told(heard.get())
        if backends:
            message["headers"] = with_told(message["headers"], backends, self.id.encode())
            ids = (value for name, value in backends if name in IDS)
            self.backend_id = next(ids, b"").decode("latin-1")[:_LONGEST_ID] or None

    def _details(self) -> dict[str, Any]:
        finished = self.finished
        fields: dict[str, Any] = {"model": self.served_model, "stream": self.stream}
        if finished is None:
            usage = self.usage
        else:
            usage = finished.usage
            repairs = 0
            for attempt in finished.attempts:
                repairs += len(attempt.fixes)
            fields["attempts"] = len(finished.attempts)
            fields["repairs"] = repairs
            fields["finish"] = finished.reason
        if usage is not None:
            fields["prompt_tokens"] = usage.prompt_tokens
            fields["completion_tokens"] = usage.completion_tokens
            fields["cached_tokens"] = usage.cached_tokens
        if self.backend_id is not None:
            fields["backend_request"] = self.backend_id
        if self.failure is not None:
            fields["error"] = self.failure.message
        elif not self.delivered and self.status:
            fields["error"] = "the client went away"
        return fields

    def _keep(self, piece: bytes) -> None:
        if not self.stream:
            self._first = piece or self._first  # a whole answer is one piece
            return
        room = _KEPT_BYTES - len(self._first)
        if room > 0:
            self._first += piece[:room]
            piece = piece[room:]
        if piece:
            self._last = (self._last + piece)[-_KEPT_BYTES:]
