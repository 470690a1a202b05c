"""Routes that the proxy answers by itself: does it live, does its backend answer, how full is the context."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from forge.proxy.service import Service
from forge.wire.json_text import dumps

_JSON: Final = "application/json"
_HEALTHY: Final = b'{"status":"ok"}'


def local_routes(service: Service) -> list[Route]:
    """``/``, ``/forge/health``, ``/forge/ready`` and ``/forge/usage`` of one proxy; each also takes HEAD."""

    async def ready(_: Request) -> Response:
        fault = await service.readiness.fault()
        if fault is None:
            return Response(b'{"status":"ready"}', media_type=_JSON)
        body = dumps({"status": "unavailable", "reason": fault})
        return Response(body, 503, headers={"retry-after": "1"}, media_type=_JSON)

    async def usage(_: Request) -> Response:
        snapshot = service.usage.snapshot
        if snapshot is None:
            return Response(status_code=204, headers={"content-length": "0"})
        return Response(snapshot, media_type=_JSON)

    return [
        # Claude Code asks for the first before it sends anything.
        *(Route(path, _health, methods=["GET"]) for path in ("/", "/forge/health")),
        Route("/forge/ready", ready, methods=["GET"]),
        Route("/forge/usage", usage, methods=["GET"]),
    ]


async def _health(_: Request) -> Response:
    return Response(_HEALTHY, media_type=_JSON)
