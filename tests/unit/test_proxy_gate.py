import json

import pytest

from forge.proxy.gate import Gate
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio


class Behind:
    """What stands behind the gate; remembers what came through."""

    def __init__(self):
        self.scopes = []

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)


async def nothing():
    raise AssertionError("the gate reads no body")


async def through(settings, headers=(), *, method="POST", path="/door", kind="http"):
    app, door, sent = Behind(), Behind(), []

    async def send(message):
        sent.append(message)

    def error_body(path, failure):
        return json.dumps([path, failure.status]).encode()

    gate = Gate(app, settings, error_body, {"/door": door})
    await gate({"type": kind, "method": method, "path": path, "headers": list(headers)}, nothing, send)
    return app.scopes, door.scopes, sent


LOCAL = Settings(backend_url="http://b")
KEYED = Settings(backend_url="http://b", api_key="k")


async def test_a_post_to_a_door_takes_the_short_way():
    headers = [(b"authorization", b"Bearer t"), (b"content-length", b"3")]
    app, door, sent = await through(LOCAL, headers)
    assert (app, sent) == ([], [])
    head = door[0]["forge.head"]
    assert (head.credentials, head.content_length) == ({"authorization": "Bearer t"}, b"3")


@pytest.mark.parametrize(("method", "path"), [("GET", "/door"), ("POST", "/other")])
async def test_everything_else_takes_the_router(method, path):
    app, door, _ = await through(LOCAL, method=method, path=path)
    assert (len(app), door) == (1, [])


@pytest.mark.parametrize(
    ("settings", "headers", "status"),
    [
        pytest.param(LOCAL, [(b"host", b"evil.example")], 403, id="host"),
        pytest.param(LOCAL, [(b"origin", b"https://evil.example")], 403, id="origin"),
        pytest.param(LOCAL, [(b"content-encoding", b"gzip")], 415, id="compressed"),
        pytest.param(LOCAL, [(b"x-api-key", b"a"), (b"x-api-key", b"a")], 400, id="twice"),
        pytest.param(KEYED, [], 401, id="no-key"),
    ],
)
async def test_refusals_are_in_the_protocol_of_the_path(settings, headers, status):
    app, door, sent = await through(settings, headers)
    assert (app, door) == ([], [])
    assert sent[0]["status"] == status
    assert json.loads(sent[1]["body"]) == ["/door", status]


async def test_health_needs_no_key_but_an_honest_host():
    app, _, _ = await through(KEYED, method="GET", path="/forge/health")
    assert len(app) == 1
    _, _, sent = await through(KEYED, [(b"host", b"evil.example")], method="GET", path="/forge/health")
    assert sent[0]["status"] == 403


async def test_websockets_are_declined_and_other_events_pass():
    _, _, sent = await through(LOCAL, kind="websocket")
    assert sent[0]["type"] == "websocket.close"
    app, _, _ = await through(LOCAL, kind="lifespan")
    assert len(app) == 1
