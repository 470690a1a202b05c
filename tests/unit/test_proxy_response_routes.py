import json

import pytest
from msgspec import Raw
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from forge.proxy.error_response import HttpError
from forge.proxy.response_routes import response_routes
from forge.proxy.response_store import ResponseStore


async def refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HttpError)
    return JSONResponse({"param": error.param}, error.status)


@pytest.fixture
def client():
    store = ResponseStore()
    items = [{"type": "message", "role": "user", "content": str(number)} for number in range(5)]
    items[0]["id"] = "own"
    store.add("resp_a", b'{"id": "resp_a"}', given=[Raw(json.dumps(i).encode()) for i in items], output=[])
    return TestClient(Starlette(routes=response_routes(store), exception_handlers={HttpError: refused}))


def page(client, **query):
    answer = client.get("/v1/responses/resp_a/input_items", params=query).json()
    return [item["content"] for item in answer["data"]], answer


def test_a_response_is_read_as_it_was_given(client):
    assert client.get("/v1/responses/resp_a").text == '{"id": "resp_a"}'


def test_a_response_is_deleted_once(client):
    assert client.delete("/v1/responses/resp_a").json()["deleted"] is True
    assert client.delete("/v1/responses/resp_a").status_code == 404
    assert client.get("/v1/responses/resp_a").status_code == 404
    assert client.get("/v1/responses/resp_a/input_items").status_code == 404


def test_pages_of_input_items(client):
    texts, answer = page(client)
    assert texts == ["4", "3", "2", "1", "0"]
    assert (answer["has_more"], answer["last_id"]) == (False, "own")
    texts, answer = page(client, order="asc", limit=2)
    assert (texts, answer["has_more"], answer["first_id"]) == (["0", "1"], True, "own")
    texts, answer = page(client, order="asc", limit=2, after=answer["last_id"])
    assert (texts, answer["has_more"]) == (["2", "3"], True)
    texts, answer = page(client, order="asc", after=answer["last_id"])
    assert (texts, answer["has_more"]) == (["4"], False)
    texts, answer = page(client, order="asc", after=answer["last_id"])
    assert (texts, answer["first_id"], answer["last_id"]) == ([], None, None)


@pytest.mark.parametrize(
    ("path", "param"),
    [
        pytest.param("?stream=true", "stream", id="stream"),
        pytest.param("/input_items?order=up", "order", id="order"),
        pytest.param("/input_items?limit=0", "limit", id="no-items"),
        pytest.param("/input_items?limit=101", "limit", id="too-many"),
        pytest.param("/input_items?limit=many", "limit", id="no-number"),
        pytest.param("/input_items?after=x", "after", id="after"),
    ],
)
def test_what_is_wrong_is_named(client, path, param):
    answer = client.get(f"/v1/responses/resp_a{path}")
    assert (answer.status_code, answer.json()) == (400, {"param": param})
