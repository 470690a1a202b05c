"""From an exception to what the caller may see of it: status, sentence, type, headers.

The one place that decides it. Doors only choose the envelope. The backend's own status and message pass through;
of anything unexpected the caller learns that it happened, and the log learns the rest.
"""

from __future__ import annotations

import json
import os
from typing import Any

from msgspec import Struct

from forge.core.request import Protocol
from forge.errors import (
    BackendError,
    BackendGivenUpError,
    BackendUnreachableError,
    ForgeError,
    RequestError,
    StreamError,
)
from forge.proxy.addresses import mask_url

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    431: "invalid_request_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class Failure(Struct, frozen=True, kw_only=True):
    """An error as a caller sees it.

    ``retry_after`` is a header value: the backend's own, or when the queue should have room. ``own_body`` is the backend's whole answer
    where that has the shape of ``protocol`` already: it may say more than we understand.
    """

    status: int
    message: str
    type: str
    code: str | None = None
    param: str | None = None
    retry_after: str | None = None
    own_body: bytes | None = None
    protocol: Protocol = Protocol.OPENAI

    def body_in(self, protocol: Protocol) -> bytes | None:
        """The backend's own body, if a caller who speaks ``protocol`` can have it as it is."""
        return self.own_body if self.protocol is protocol else None


class HttpError(ForgeError):
    """A request that the proxy itself turns down: ``status`` and one sentence for the caller."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.error_code = code
        self.retry_after = retry_after


def error_type(status: int) -> str:
    """OpenAI's ``error.type`` for an HTTP status."""
    return _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")


def describe(error: BaseException) -> Failure:
    """What a caller is told about ``error``; never a URL with credentials, never a traceback."""
    match error:
        case HttpError():
            return _own_failure(
                error, code=error.error_code, param=error.param, retry_after=error.retry_after
            )
        case BackendError():
            return _backend_failure(error)
        case BackendGivenUpError():
            # No address, and no try again: only who started the proxy can do anything about it.
            return Failure(status=502, message=f"{error}. {error.hint}", type="server_error", code=error.code)
        case BackendUnreachableError(cause=TimeoutError()):
            return Failure(
                status=504,
                message=f"the backend at {mask_url(error.url)} did not answer in time",
                type="timeout_error",
                code="backend_timeout",
            )
        case BackendUnreachableError():
            return Failure(
                status=502,
                message=f"the backend at {mask_url(error.url)} cannot be reached: {_cause(error)}",
                type="server_error",
                code=error.code,
            )
        case RequestError():
            return _own_failure(error, code=error.code, param=error.param)
        case TimeoutError():
            return Failure(
                status=504,
                message="the backend did not answer in time (--backend-timeout)",
                type="timeout_error",
                code="backend_timeout",
            )
        case StreamError(status=504):
            return _own_failure(error, code="backend_timeout")
        case ForgeError():
            return _own_failure(error, code=error.code)
        case _:
            return Failure(
                status=500,
                message="Forge failed on this request; its log has the details",
                type="server_error",
                code="internal_error",
            )


def _own_failure(
    error: ForgeError, *, code: str | None, param: str | None = None, retry_after: str | None = None
) -> Failure:
    """An error of ours whose text is written for the caller."""
    return Failure(
        status=error.status,
        message=str(error),
        type=error_type(error.status),
        code=code,
        param=param,
        retry_after=retry_after,
    )


def _cause(error: BackendUnreachableError) -> str:
    cause = error.cause
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        # The system's plain words, without the address that asyncio and aiohttp put into theirs.
        return os.strerror(cause.errno)
    return str(cause) if cause is not None else "no answer"


def _backend_failure(error: BackendError) -> Failure:
    status = error.status
    stated, protocol = _stated(error.body)
    if 300 <= error.status_code < 400:
        stated = {
            "message": "the backend answered with a redirect, which is not followed: check --backend-url"
        }
        protocol = None
    message = stated.get("message")
    kind = stated.get("type")
    code = stated.get("code")
    param = stated.get("param")
    return Failure(
        status=status,
        message=message if isinstance(message, str) and message else _plain(error),
        type=kind if isinstance(kind, str) and kind else error_type(status),
        code=str(code) if isinstance(code, str | int) else None,
        param=param if isinstance(param, str) else None,
        retry_after=error.retry_after,
        own_body=error.body.encode() if protocol is not None else None,
        protocol=protocol or Protocol.OPENAI,
    )


def _stated(body: str) -> tuple[dict[str, Any], Protocol | None]:
    """The error object inside a backend's body, and the protocol whose shape of an error body it has."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}, None
    if not isinstance(value, dict):
        return {}, None
    inner = value.get("error", value)
    if isinstance(inner, str):
        # Ollama passes its engine's whole answer on as a string.
        engine, _ = _stated(inner) if inner.lstrip().startswith("{") else ({}, None)
        return engine or {"message": inner}, None
    if not isinstance(inner, dict):
        return {}, None
    if isinstance(inner.get("message"), str):
        shape = Protocol.ANTHROPIC if value.get("type") == "error" else Protocol.OPENAI
        return inner, shape if "error" in value else None
    detail = inner.get("detail")
    return ({"message": detail} if isinstance(detail, str) else {}), None


def _plain(error: BackendError) -> str:
    if error.detail:  # what was read out of the answer, or why it is none
        return error.detail
    text = error.body.strip()
    # A page of HTML from some gateway helps nobody; a short sentence does.
    if text and len(text) <= 500 and not text.startswith(("<", "{", "[")):
        return text
    return f"the backend answered with status {error.status_code}"
