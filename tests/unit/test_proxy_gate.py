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


async def through(
    settings, headers=(), *, method="POST", path="/door", kind="http", version=None, client=None
):
    app, door, sent = Behind(), Behind(), []

    async def send(message):
        sent.append(message)

    def error_body(path, failure):
        return json.dumps([path, failure.status]).encode()

    gate = Gate(app, settings, error_body, {"/door": door})
    scope = {"type": kind, "method": method, "path": path, "headers": list(headers), "client": client}
    await gate({**scope, "http_version": version} if version else scope, nothing, send)
    return app.scopes, door.scopes, sent


LOCAL = Settings(backend_url="http://b")
KEYED = Settings(backend_url="http://b", api_key="k")


async def test_a_post_to_a_door_takes_the_short_way():
    headers = [(b"authorization", b"Bearer t"), (b"content-length", b"3")]
    app, door, sent = await through(LOCAL, headers)
    assert (app, sent) == ([], [])
    head = door[0]["forge.head"]
    assert (head.credentials["authorization"], head.content_length) == ("Bearer t", b"3")
    assert head.credentials.keys() == {"authorization", "Via"}


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
        pytest.param(LOCAL, [(b"host", b"localhost"), (b"host", b"localhost")], 400, id="two-hosts"),
        pytest.param(LOCAL, [(b"origin", b"http://localhost"), (b"origin", b"x")], 400, id="two-origins"),
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


@pytest.mark.parametrize(("version", "refused"), [("1.1", True), ("1.0", False)])
async def test_http_1_1_needs_a_host(version, refused):
    _, door, sent = await through(LOCAL, version=version)
    assert (door == []) is refused
    assert [m["status"] for m in sent[:1]] == [400] * refused


async def test_a_request_that_came_from_here_is_a_loop():
    gate, via = None, []

    class Door:
        async def __call__(self, scope, receive, send):
            via.append(scope["forge.head"].credentials["Via"])

    gate = Gate(Behind(), LOCAL, lambda path, failure: b"", {"/door": Door()})
    other = Gate(Behind(), LOCAL, lambda path, failure: b"", {"/door": Door()})
    sent = []

    async def send(message):
        sent.append(message)

    async def ask(where, *headers):
        await where({"type": "http", "method": "POST", "path": "/door", "headers": headers}, nothing, send)

    await ask(gate, (b"via", b"1.1 nginx"))
    await ask(other, (b"via", via[0].encode()))
    assert sent == []
    assert via[1].startswith(via[0])
    await ask(gate, (b"via", via[1].encode()))
    await ask(
        gate, (b"via", via[1].encode()), (b"via", b"1.1 squid")
    )  # as a proxy in between may add its own
    assert [message["status"] for message in sent if "status" in message] == [508, 508]
    assert len(via) == 2


async def test_callers_are_told_apart_by_address_and_key():
    found = []
    for client, headers in [
        (("10.0.0.1", 5), []),
        (("10.0.0.2", 5), []),
        (("10.0.0.1", 6), [(b"x-api-key", b"k")]),
    ]:
        _, door, _ = await through(LOCAL, headers, client=client)
        found.append(door[0]["forge.head"].caller)
    _, door, _ = await through(LOCAL, [], client=("10.0.0.1", 7))
    assert len(set(found)) == 3
    assert door[0]["forge.head"].caller == found[0]


async def test_websockets_are_declined_and_other_events_pass():
    _, _, sent = await through(LOCAL, kind="websocket")
    assert sent[0]["type"] == "websocket.close"
    app, _, _ = await through(LOCAL, kind="lifespan")
    assert len(app) == 1


async def test_a_refusal_is_logged_and_what_was_sent_cannot_write_a_line(caplog):
    with caplog.at_level("WARNING", "forge.proxy"):
        await through(KEYED, path="/other\nforged", headers=[(b"authorization", b"Bearer s3cret")])
    [line] = caplog.messages
    assert "401" in line
    assert "\n" not in line
    assert "s3cret" not in line
