"""Every error that the proxy can give, in every protocol, as the SDKs see it: their typed exception, the status, the words."""

import asyncio
from contextlib import asynccontextmanager

import anthropic
import openai
import pytest
from servers.running import running_proxy
from servers.scripted import Gate, Script, ScriptedServer, chunk, ending, error, stream

from forge.proxy.limits import Limits

pytestmark = pytest.mark.anyio

FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
HI = [{"role": "user", "content": "hi"}]


class Chat:
    """OpenAI's SDK at the door of chat completions."""

    errors = openai

    def __init__(self, url, key="none"):
        self.client = openai.AsyncOpenAI(
            base_url=f"{url}/v1", api_key=key, max_retries=0, http_client=http(self.errors)
        )

    async def ask(self, *, streamed=False, **fields):
        tools = [{"type": "function", "function": FUNCTION}]
        asked = {"model": "m", "messages": HI, "tools": tools, "stream": streamed, **fields}
        answer = await self.client.chat.completions.create(**asked)
        if streamed:
            async for _ in answer:
                pass


class Responses(Chat):
    """OpenAI's SDK at the door of responses."""

    async def ask(self, *, streamed=False, **fields):
        tools = [{"type": "function", **FUNCTION}]
        asked = {"model": "m", "input": "hi", "tools": tools, **fields}
        if not streamed:
            await self.client.responses.create(**asked)
            return
        async with self.client.responses.stream(**asked) as events:
            async for _ in events:
                pass


class Messages:
    """Anthropic's SDK at the door of messages."""

    errors = anthropic

    def __init__(self, url, key="none"):
        self.client = anthropic.AsyncAnthropic(
            base_url=url, api_key=key, max_retries=0, http_client=http(self.errors)
        )

    async def ask(self, *, streamed=False, **fields):
        tools = [{"name": "f", "input_schema": FUNCTION["parameters"]}]
        asked = {"model": "m", "max_tokens": 9, "messages": HI, "tools": tools, **fields}
        if not streamed:
            await self.client.messages.create(**asked)
            return
        async with self.client.messages.stream(**asked) as events:
            async for _ in events:
                pass


def http(sdk):
    # Nothing is encrypted here, and reading the system's certificates takes longer than a test.
    return sdk.DefaultAsyncHttpxClient(verify=False)


DOORS = [Chat, Responses, Messages]
OPENAI_TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
ANTHROPIC_TYPES = {
    **OPENAI_TYPES,
    408: "RequestTimeoutError",
    413: "RequestTooLargeError",
    431: "RequestHeaderFieldsTooLargeError",
    503: "ServiceUnavailableError",
    504: "DeadlineExceededError",
    529: "OverloadedError",
}


def typed(door, status):
    """The SDK's class for a status."""
    if door is Messages:
        name = ANTHROPIC_TYPES.get(status, "InternalServerError" if status >= 500 else "APIStatusError")
    else:
        name = OPENAI_TYPES.get(status, "InternalServerError" if status >= 500 else "APIStatusError")
    return getattr(door.errors, name, None) or getattr(door.errors._exceptions, name)


@asynccontextmanager
async def meeting(door, *scripts, **settings):
    """A client at a door of a proxy before a scripted backend."""
    async with (
        ScriptedServer(list(scripts)) as backend,
        running_proxy(settings.pop("backend_url", None) or backend.url, **settings) as runtime,
    ):
        client = door(runtime.url)
        client.backend, client.runtime = backend, runtime
        try:
            yield client
        finally:
            await client.client.close()


def check(door, raised, status, words):
    assert type(raised) is typed(door, status)
    assert raised.status_code == status
    assert words in str(raised)
    shown = raised.body["error"] if door is Messages else raised.body
    assert words in shown["message"]
    assert shown["type"]


OWN = [
    pytest.param({}, {"extra_body": {"tools": 3}}, 400, "tools", id="a-wrong-field"),
    pytest.param({"api_key": "k"}, {}, 401, "key", id="a-wrong-key"),
    pytest.param(
        {}, {"extra_headers": {"Origin": "https://evil.example"}}, 403, "web pages", id="a-foreign-page"
    ),
    pytest.param({"limits": Limits(body_bytes=50)}, {}, 413, "larger", id="too-large"),
    pytest.param({}, {"extra_headers": {"Content-Encoding": "gzip"}}, 415, "compressed", id="compressed"),
    pytest.param({}, {"extra_headers": {"X-Long": "a" * 70_000}}, 431, "headers", id="long-headers"),
    pytest.param({"backend_url": "http://127.0.0.1:9"}, {}, 502, "cannot be reached", id="no-backend"),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("settings", "fields", "status", "words"), OWN)
async def test_what_the_proxy_refuses(door, streamed, settings, fields, status, words):
    async with meeting(door, **settings) as client:
        with pytest.raises(door.errors.APIStatusError) as caught:
            await client.ask(streamed=streamed, **fields)
    check(door, caught.value, status, words)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("status", "streamed"),
    [
        *(
            (status, False)
            for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)
        ),
        *((status, True) for status in (400, 429, 500)),
    ],
)
async def test_what_the_backend_says(door, status, streamed):
    async with meeting(door, error(status, "no luck", "some_error", {"Retry-After": "7"})) as client:
        with pytest.raises(door.errors.APIStatusError) as caught:
            await client.ask(streamed=streamed)
    check(door, caught.value, status, "no luck")
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("limits", "words"), [({"first_byte_seconds": 0.1}, "in time"), ({"total_seconds": 0.1}, "longer than")]
)
async def test_what_takes_too_long(door, streamed, limits, words):
    async with meeting(door, Script([Gate()], raw=True), limits=Limits(**limits)) as client:
        with pytest.raises(door.errors.APIStatusError) as caught:
            await client.ask(streamed=streamed)
    check(door, caught.value, 504, words)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_full_queue(door, streamed):
    async with meeting(door, Script([Gate()]), serialize=True, limits=Limits(queue=0)) as client:
        first = asyncio.create_task(client.ask())
        await client.backend.chat()
        with pytest.raises(door.errors.APIStatusError) as caught:
            await client.ask(streamed=streamed)
        check(door, caught.value, 503, "too many")
        assert int(caught.value.response.headers["retry-after"]) >= 1
        client.runtime._service.closing.end()
        with pytest.raises(door.errors.APIStatusError) as caught:
            await first
        check(door, caught.value, 503, "shutting down")


@pytest.mark.parametrize("door", DOORS)
async def test_wrong_routes_and_methods(door):
    async with meeting(door) as client:
        prefix = "/v1" if door is Messages else ""
        path = {Chat: "/chat/completions", Responses: "/responses", Messages: "/messages"}[door]
        for way, target, status in ((client.client.post, "/nowhere", 404), (client.client.get, path, 405)):
            with pytest.raises(door.errors.APIStatusError) as caught:
                await way(prefix + target, cast_to=object)
            check(door, caught.value, status, "route")


SAID = chunk({"role": "assistant", "content": "Hi"})
FRAME = b'data: {"error":{"code":500,"message":"boom","type":"server_error"}}\n\n'


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("steps", "limits", "words"),
    [
        pytest.param([SAID, FRAME], {}, "boom", id="the-backends-own"),
        pytest.param([SAID, Gate(), *ending()], {"between_bytes_seconds": 0.1}, "stalled", id="silence"),
        pytest.param([SAID, Gate(), *ending()], {"total_seconds": 0.2}, "longer than", id="too-long"),
        pytest.param([SAID, Gate(), *ending()], None, "shutting down", id="the-proxys-end"),
    ],
)
async def test_what_fails_within_a_stream(door, steps, limits, words):
    script = stream([Gate() if isinstance(step, Gate) else step for step in steps])
    async with meeting(door, script, limits=Limits(**(limits or {}))) as client:
        asking = asyncio.create_task(client.ask(streamed=True))
        if limits is None:
            await client.backend.chat()
            while client.runtime._service.closing._attended == set():  # noqa: ASYNC110 - a look from outside
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.1)  # until the first words have passed
            client.runtime._service.closing.end()
        with pytest.raises(door.errors.APIError) as caught:
            await asking
    assert words in str(caught.value)
