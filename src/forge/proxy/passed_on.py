"""Routes of the backend that are passed on: what it says of itself, and answers in which nothing can be guarded."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.routing import Route

from forge.clients.heard import heard
from forge.clients.transport import Incoming
from forge.core.request import Protocol
from forge.errors import ForgeError, RequestError
from forge.proxy.body import ClientGoneError, Receive, Scope, Send, read_body
from forge.proxy.courier import returned_headers
from forge.proxy.error_response import HttpError, describe
from forge.proxy.gate import ErrorBody, Head
from forge.proxy.model_list import with_openai_fields
from forge.proxy.report import Report
from forge.proxy.served import served
from forge.proxy.service import Service
from forge.proxy.stream import JSON, EventStream, cancelled_with_client, send_failure, send_json
from forge.proxy.told_headers import told
from forge.wire.openai import top_level_fields

_log = logging.getLogger("forge.proxy")

METADATA_PATHS: Final = ("/v1/models", "/models", "/v1/models/{id:path}", "/props", "/health", "/v1/health")
"""Read-only routes: a GET or HEAD to them becomes the same GET to the backend."""
FORWARDED_PATHS: Final = ("/v1/completions", "/v1/embeddings")
"""Routes to which a POST becomes the same POST to the backend, streamed where it asks for that."""
_MODELS: Final = "/v1/models"


def passed_on_routes(service: Service, error_body: ErrorBody) -> list[Route]:
    """The routes of ``service`` that are passed on; ``error_body`` shapes what fails here."""
    metadata = _Metadata(service, error_body)
    forwarded = _Forwarded(service, error_body)
    return [
        *(Route(path, metadata, methods=["GET"]) for path in METADATA_PATHS),
        *(Route(path, forwarded, methods=["POST"]) for path in FORWARDED_PATHS),
    ]


class _Metadata:
    """Hands a read-only request through to the backend: status, content type and body as they came."""

    def __init__(self, service: Service, error_body: ErrorBody) -> None:
        self._service = service
        self._error_body = error_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one GET or HEAD."""
        head: Head = scope["forge.head"]
        service = self._service
        # Metadata routes are the same in all protocols: which one the caller speaks, only its key tells.
        slot = "x-api-key" if "x-api-key" in head.credentials else "authorization"
        credentials = service.credentials(head.credentials, slot)
        with cancelled_with_client(receive):
            try:
                path = self._path(scope)
                async with service.courier.send(
                    "GET", path, query=scope["query_string"], headers=credentials
                ) as answer:
                    body = await answer.read()
                    if (
                        path.startswith(_MODELS)
                        and service.kind.protocol is Protocol.ANTHROPIC
                        and answer.status == 200
                    ):
                        body = with_openai_fields(body)
                    headers = (*(returned_headers(answer) or (JSON,)), *told(heard.get()))
                    await send_json(send, answer.status, body, headers)
            except (ForgeError, TimeoutError) as error:
                failure = describe(error)
                _log.warning("%s answered %d: %r", scope["path"], failure.status, failure.message)
                await send_failure(send, failure, self._error_body(scope["path"], failure))

    def _path(self, scope: Scope) -> str:
        model = Request(scope).path_params.get("id")
        if model is not None:
            if any(step in {"", ".", ".."} for step in model.replace("\\", "/").split("/")):
                raise HttpError(
                    404, "no such route on this proxy; GET /openapi.json lists them", code="route_not_found"
                )
            return f"{_MODELS}/{quote(model, safe='/:@')}"
        path: str = scope["path"]
        # The Messages API has but one spelling.
        return _MODELS if path == "/models" and self._service.kind.protocol is Protocol.ANTHROPIC else path


class _Forwarded:
    """Hands a request for an answer through: changed in its body is only a model that the backend would refuse."""

    def __init__(self, service: Service, error_body: ErrorBody) -> None:
        self._service = service
        self._error_body = error_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        head: Head = scope["forge.head"]
        service = self._service
        report = Report(scope["path"], send)
        report.forwarded = True
        body = b""
        try:
            body = await read_body(receive, service.bodies, head.content_length)
            fields = _fields(body)
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the caller gets an answer
            service.bodies.give_back(body)
            failure = describe(error)
            report.fail(error, failure)
            await send_failure(report.send, failure, self._error_body(scope["path"], failure))
            report.write()
            return
        report.tells = service.kind.limits_callers
        report.model, report.stream = _text(fields.get("model")), bytes(fields.get("stream", b"")) == b"true"
        exchange = _Exchange(service, head, report, body, fields)
        try:
            if report.stream:
                await self._stream(exchange, report, receive)
            else:
                await self._whole(exchange, report, receive)
        finally:
            service.bodies.give_back(body)
            report.write()

    async def _whole(self, exchange: _Exchange, report: Report, receive: Receive) -> None:
        with cancelled_with_client(receive):
            try:
                await served(self._service, exchange.caller, exchange.whole, report.send)
            except Exception as error:  # noqa: BLE001 - as above
                failure = describe(error)
                report.fail(error, failure)
                await send_failure(report.send, failure, self._error_body(report.path, failure))

    async def _stream(self, exchange: _Exchange, report: Report, receive: Receive) -> None:
        seconds = self._service.settings.limits.heartbeat_seconds
        async with EventStream(report.send, seconds) as stream:
            with cancelled_with_client(receive, stream.nudge):
                try:
                    await served(self._service, exchange.caller, exchange.stream, stream)
                except Exception as error:  # noqa: BLE001 - as above
                    failure = describe(error)
                    report.fail(error, failure)
                    shown = self._error_body(report.path, failure)
                    if stream.started:
                        await stream.fail(b"data: " + b" ".join(shown.splitlines()) + b"\n\n")
                    else:
                        await stream.refuse(failure, shown)


class _Exchange:
    """One request on its way."""

    def __init__(
        self, service: Service, head: Head, report: Report, body: bytes, fields: dict[str, msgspec.Raw]
    ) -> None:
        self.caller = head.caller
        self._service = service
        self._credentials = service.credentials(head.credentials, "authorization")
        self._path = report.path
        self._body = body
        self._fields = fields

    async def whole(self, send: Send) -> None:
        """Send it, and pass its answer on."""
        async with self._sent() as answer:
            await send_json(send, answer.status, await answer.read(), returned_headers(answer) or (JSON,))

    async def stream(self, stream: EventStream) -> None:
        """Send it, and pass its answer on piece by piece, if that is a stream."""
        async with self._sent() as answer:
            if answer.content_type == "text/event-stream":
                while piece := await answer.next_piece():
                    await stream.write(piece)
                await stream.end()
            elif stream.started:
                raise HttpError(502, "the backend was asked for a stream and did not send one")
            else:
                await stream.replace(answer.status, await answer.read(), returned_headers(answer))

    @asynccontextmanager
    async def _sent(self) -> AsyncIterator[Incoming]:
        courier, body = self._service.courier, await self._named()
        async with courier.send("POST", self._path, body=body, headers=self._credentials) as answer:
            if answer.status >= 400:
                raise await answer.error()
            yield answer

    async def _named(self) -> bytes:
        service = self._service
        model = service.settings.model
        named = bytes(self._fields.get("model", b"null")) != b"null"
        if service.kind.names_its_model:
            model, named = (await service.backend.capabilities()).model, False
        if model is None or named:
            return self._body
        return msgspec.json.encode({**self._fields, "model": model})


def _fields(body: bytes) -> dict[str, msgspec.Raw]:
    try:
        body.decode()
    except UnicodeDecodeError:
        raise RequestError("the request body is not valid UTF-8") from None
    return top_level_fields(body)


def _text(raw: msgspec.Raw | None) -> str | None:
    try:
        value = msgspec.json.decode(raw) if raw is not None else None
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, str) else None
