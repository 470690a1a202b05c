"""A client, a proxy and a scripted backend, on real sockets, for chats about the weather."""

from __future__ import annotations

import json

import aiohttp
from servers.running import running_proxy
from servers.scripted import ScriptedServer

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
PARIS = '{"city": "Paris"}'


def chat(*, tools=True, **fields):
    body = {"model": "m", "messages": [{"role": "user", "content": "Weather in Paris?"}], **fields}
    return {**body, "tools": [WEATHER]} if tools else body


def events(body):
    """The data of each event, ``[DONE]`` as it is."""
    data = [line[6:] for line in body.decode().split("\n") if line.startswith("data: ")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def text_of(parsed):
    return "".join(c["delta"].get("content") or "" for e in parsed if e != "[DONE]" for c in e["choices"])


def calls_of(parsed):
    return [
        call
        for e in parsed
        if e != "[DONE]"
        for c in e["choices"]
        for call in c["delta"].get("tool_calls") or []
    ]


class Client:
    """Posts to one proxy and keeps its session until closed."""

    def __init__(self, url):
        self.url = url
        self.session = aiohttp.ClientSession()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.session.close()

    async def post(self, body, *, path="/v1/chat/completions", headers=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.post(self.url + path, data=data, headers=headers) as response:
            return response.status, response.headers, await response.read()

    async def get(self, path, *, method="GET", headers=None):
        async with self.session.request(method, self.url + path, headers=headers) as response:
            return response.status, response.headers, await response.read()


class Setup:
    """A backend with scripts, a proxy before it, a client before that."""

    def __init__(self, scripts=(), **settings):
        self.backend = ScriptedServer(
            list(scripts), props=settings.pop("props", None), pages=settings.pop("pages", None)
        )
        self.settings = settings

    async def __aenter__(self):
        await self.backend.__aenter__()
        self._proxy = running_proxy(self.backend.url, **self.settings)
        self.runtime = await self._proxy.__aenter__()
        self.client = Client(self.runtime.url)
        return self

    async def __aexit__(self, *exc):
        await self.client.__aexit__()
        await self._proxy.__aexit__(*exc)
        await self.backend.__aexit__(*exc)


class Shared:
    """One setup for the tests of a module, since starting and ending a proxy takes longer than most of them."""

    def __init__(self, setup):
        self.backend = setup.backend
        self.client = setup.client

    def answering(self, scripts):
        """The same setup with these answers to come, and none of the requests that came before."""
        self.backend.scripts = list(scripts)
        self.backend.requests.clear()
        return self
