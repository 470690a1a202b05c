"""A model server that Forge started and that does not start any more: each request is told so, at once."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import aiohttp
import anthropic
import msgspec
import openai
import pytest
from servers.proxied import WEATHER, Setup, chat

from forge.errors import ServerStartError
from forge.proxy.server import bind
from forge.proxy.settings import Settings
from forge.proxy.workers import LOST, Brief
from forge.serving.supervisor import Backoff, Supervisor

pytestmark = pytest.mark.anyio


class Dead:
    """A server that ran once."""

    alive = False

    async def wait(self):
        return 1

    async def aclose(self):
        pass

    def log_tail(self):
        return "killed"


@asynccontextmanager
async def given_up(**settings):
    """A proxy whose own server has been given up."""
    starts = iter([Dead()])

    async def start():
        if (server := next(starts, None)) is None:
            raise ServerStartError("not enough memory")
        return server

    async with Setup(**settings) as s:
        host = Supervisor("llama-server", s.backend.url, start, Backoff(first=0, longest=0, attempts=2))
        await host.open()
        s.runtime.backend.hosted_by(host)
        s.runtime.courier.hosted_by(host)
        yield s
        await host.aclose()


SPOKEN = [{"role": "user", "content": "hi"}]
TOOL = {"name": "f", "input_schema": {"type": "object"}}
REQUESTS = {
    "chat": ("/v1/chat/completions", chat()),
    "chat-without-tools": ("/v1/chat/completions", chat(tools=False)),
    "messages": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": SPOKEN, "tools": [TOOL]}),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": "hi", "tools": [{"type": "function", **WEATHER["function"]}]},
    ),
    "completions": ("/v1/completions", {"prompt": "hi"}),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("request_", REQUESTS)
async def test_each_door_says_why_and_what_to_do(request_, stream):
    path, body = REQUESTS[request_]
    async with given_up() as s:
        async with asyncio.timeout(5):
            status, headers, answer = await s.client.post({**body, "stream": stream}, path=path)
        assert s.backend.chats == []
    assert (status, headers["content-type"]) == (502, "application/json")
    error = json.loads(answer)["error"]
    assert "not enough memory" in error["message"]
    assert "start Forge anew" in error["message"]
    if path == "/v1/messages":
        assert error["type"] == "api_error"
    else:
        assert (error["code"], error["type"]) == ("backend_given_up", "server_error")


async def test_the_sdks_raise_their_own_errors():
    async with given_up() as s:
        async with openai.AsyncOpenAI(base_url=f"{s.client.url}/v1", api_key="k", max_retries=0) as client:
            with pytest.raises(openai.InternalServerError, match="start Forge anew"):
                await client.chat.completions.create(model="m", messages=SPOKEN, tools=[WEATHER])
        async with anthropic.AsyncAnthropic(base_url=s.client.url, api_key="k", max_retries=0) as client:
            with pytest.raises(anthropic.InternalServerError, match="start Forge anew"):
                await client.messages.create(model="m", messages=SPOKEN, tools=[TOOL], max_tokens=9)


async def test_readiness_says_it_too():
    async with given_up() as s:
        status, _, body = await s.client.get("/forge/ready")
    assert status == 503
    assert "given up" in body.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="sockets are handed on to processes")
async def test_a_worker_that_is_told_says_it_as_well():
    with bind("127.0.0.1", 0) as gone:
        nobody = f"http://127.0.0.1:{gone.getsockname()[1]}"
    with bind("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        brief = Brief(Settings(backend="llamaserver", gguf="m.gguf", workers=2), listener.fileno(), nobody)
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "forge.proxy.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(listener.fileno(),),
        )
        try:
            worker.stdin.write(msgspec.json.encode(brief) + b"\n" + LOST + b'"not enough memory"\n')
            async with asyncio.timeout(60):
                assert await worker.stdout.readline() == b"ready\n"
            async with aiohttp.ClientSession() as session, asyncio.timeout(20):
                for body in (chat(), chat(tools=False), chat(stream=True)):
                    async with session.post(f"{url}/v1/chat/completions", json=body) as answer:
                        error = (await answer.json())["error"]
                    assert (answer.status, error["code"]) == (502, "backend_given_up")
                    assert "not enough memory" in error["message"]
        finally:
            worker.stdin.close()
            await worker.wait()
