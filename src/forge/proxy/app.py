"""The ASGI application: which path goes where.

:func:`create_app` makes an application that can be served by anything that speaks ASGI, or mounted in another
service; :mod:`forge.proxy.server` serves it with the limits that belong below ASGI.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from forge.proxy import count_tokens
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.body import Receive, Scope, Send
from forge.proxy.description import description_route
from forge.proxy.door import Door
from forge.proxy.error_response import Failure, HttpError, describe
from forge.proxy.gate import App, Gate
from forge.proxy.handler import InferenceEndpoint
from forge.proxy.local_routes import local_routes
from forge.proxy.openai_door import OpenAIDoor
from forge.proxy.passed_on import passed_on_routes
from forge.proxy.response_routes import response_routes
from forge.proxy.response_store import ResponseStore
from forge.proxy.responses_door import ResponsesDoor
from forge.proxy.service import Service

_log = logging.getLogger("forge.proxy")

_OPENAI = OpenAIDoor()
_RESPONSES = ResponsesDoor(ResponseStore(0))
_ANTHROPIC = AnthropicDoor()
DOORS: dict[str, Door] = {
    "/v1/chat/completions": _OPENAI,
    "/chat/completions": _OPENAI,
    "/v1/responses": _RESPONSES,
    "/responses": _RESPONSES,
    "/v1/messages": _ANTHROPIC,
}
"""By path. What is stored belongs to one service, so its application has a Responses door of its own."""


def create_app(service: Service, *, owns_service: bool = False) -> Starlette:
    """The application for ``service``; with ``owns_service`` its shutdown closes the service."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if owns_service:
                await service.aclose()

    store = ResponseStore()
    responses = ResponsesDoor(store)
    doors: dict[str, App] = {
        path: InferenceEndpoint(responses if door is _RESPONSES else door, service)
        for path, door in DOORS.items()
    }
    doors[count_tokens.PATH] = count_tokens.CountTokensEndpoint(_ANTHROPIC, service)
    routes = [
        # For the methods they do not take, and for whoever asks the application for its routes.
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in doors.items()),
        *response_routes(store),
        *local_routes(service),
        description_route(),
        *passed_on_routes(service, error_body),
    ]
    app = _GatedApp(
        routes=routes,
        exception_handlers={
            HTTPException: _on_http_exception,
            HttpError: _on_refusal,
            Exception: _on_fault,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    settings = service.settings
    gate = Gate(app.ungated, settings=settings, error_body=error_body, endpoints=doors)
    app.gate = _opened_to(settings.cors_origins, gate) if settings.cors_origins else gate
    return app


def _opened_to(origins: tuple[str, ...], gate: Gate) -> ASGIApp:
    """The gate with answers that the pages of ``origins`` may read."""
    return CORSMiddleware(
        gate,
        allow_origins=origins,
        allow_methods=["GET", "HEAD", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=[
            "Retry-After",
            "X-Request-Id",
            "Request-Id",
            "X-Forge-Request-Id",
            "X-Forge-Token-Count",
        ],
        allow_private_network=True,
    )


class _GatedApp(Starlette):
    """The application with the gate before Starlette's own layers, which the doors do without."""

    gate: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one ASGI event through the gate."""
        await self.gate(scope, receive, send)

    async def ungated(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What lies behind the gate: routes, error pages, lifespan."""
        await super().__call__(scope, receive, send)


def error_body(path: str, failure: Failure) -> bytes:
    """An error body in the protocol that is spoken at ``path``."""
    # All of that API's clients read errors in its shape, those too that want a route that is not here.
    other = _ANTHROPIC if _ANTHROPIC.path in path else _OPENAI
    return DOORS.get(path, other).error_body(failure)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    twice = "; the client's base URL has a /v1 too much" if path.startswith("/v1/v1") else ""
    sentence = {
        404: f"no such route on this proxy{twice}; GET /openapi.json lists them",
        405: f"this route does not take {request.method} requests",
    }.get(error.status_code, str(error.detail))
    failure = describe(HttpError(error.status_code, sentence, code=_CODES.get(error.status_code)))
    _log.info("refused %d %s %r: %r", failure.status, request.method, path, failure.message)
    body = error_body(path, failure)
    return Response(body, error.status_code, headers=error.headers, media_type="application/json")


async def _on_refusal(request: Request, error: Exception) -> Response:
    failure = describe(error)
    return Response(error_body(request.scope["path"], failure), failure.status, media_type="application/json")


async def _on_fault(request: Request, error: Exception) -> Response:
    # Starlette's outermost layer raises it again after this answer, and the server logs it.
    failure = describe(error)
    return Response(error_body(request.scope["path"], failure), failure.status, media_type="application/json")


_CODES = {404: "route_not_found", 405: "method_not_allowed"}
