"""``/openapi.json``: the routes of the proxy for tools that read such things. Its text is ``openapi.json`` beside us."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from forge._version import __version__

PATH = "/openapi.json"


@lru_cache(maxsize=1)
def description() -> bytes:
    """The OpenAPI document of this version."""
    document = msgspec.json.decode(resources.files(__package__).joinpath("openapi.json").read_bytes())
    document["info"]["version"] = __version__
    return msgspec.json.encode(document)


async def _answer(_: Request) -> Response:
    return Response(description(), media_type="application/json")


def description_route() -> Route:
    """The route that serves it; relative to wherever the proxy is mounted."""
    return Route(PATH, _answer, methods=["GET"])
