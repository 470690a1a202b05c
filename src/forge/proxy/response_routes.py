"""What is stored of responses, to be read and deleted: ``/v1/responses/{id}`` and its ``input_items``."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from forge.proxy.error_response import HttpError
from forge.proxy.response_store import ResponseStore, StoredResponse
from forge.wire.json_text import dumps

_JSON = "application/json"


def response_routes(store: ResponseStore) -> list[Route]:
    """The routes that read and delete what ``store`` has; they raise :class:`HttpError`."""

    def found(request: Request) -> StoredResponse:
        response_id = request.path_params["id"]
        response = store.get(response_id)
        if response is None:
            raise HttpError(404, f"Response with id '{response_id}' not found.", param="response_id")
        return response

    async def one(request: Request) -> Response:
        response = found(request)
        if request.method == "DELETE":
            return _deleted(store, request.path_params["id"])
        if request.query_params.get("stream") == "true":
            raise HttpError(400, "a stored response is not streamed again", param="stream")
        return Response(response.body, media_type=_JSON)

    async def input_items(request: Request) -> Response:
        items = _named(found(request), request.path_params["id"])
        return Response(dumps(_page(request, items)), media_type=_JSON)

    return [
        Route("/v1/responses/{id}", one, methods=["GET", "DELETE"]),
        Route("/v1/responses/{id}/input_items", input_items, methods=["GET"]),
    ]


def _deleted(store: ResponseStore, response_id: str) -> Response:
    store.delete(response_id)
    return Response(dumps({"id": response_id, "object": "response", "deleted": True}), media_type=_JSON)


def _named(response: StoredResponse, response_id: str) -> list[dict[str, Raw]]:
    """The items of a response's request; those that came without an id get one."""
    items: list[dict[str, Raw]] = []
    for number, raw in enumerate(response.input):
        item = msgspec.json.decode(raw, type=dict[str, Raw])
        name = Raw(dumps(f"in_{response_id.removeprefix('resp_')}{number:03x}"))
        items.append({"id": name, "type": Raw(b'"message"'), **item})
    return items


def _page(request: Request, items: list[dict[str, Raw]]) -> dict[str, Any]:
    query = request.query_params
    order, after = query.get("order", "desc"), query.get("after")
    if order not in ("asc", "desc"):
        raise HttpError(400, "'order' must be asc or desc", param="order")
    limit = query.get("limit", "20")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 100):
        raise HttpError(400, "'limit' must be a number from 1 to 100", param="limit")
    if order == "desc":
        items.reverse()
    ids = [msgspec.json.decode(item["id"]) for item in items]
    if after is not None:
        if after not in ids:
            raise HttpError(400, "'after' is not the id of an input item", param="after")
        start = ids.index(after) + 1
        items, ids = items[start:], ids[start:]
    count = int(limit)
    return {
        "object": "list",
        "data": items[:count],
        "first_id": ids[0] if ids else None,
        "last_id": ids[:count][-1] if ids else None,
        "has_more": len(items) > count,
    }
