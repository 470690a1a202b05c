"""schemathesis against the proxy's own OpenAPI description: ``make test-openapi``.

A proxy in front of a backend that answers everything, and thousands of requests made from the description, right ones
and wrong ones. It ends with status 0 when none of them was answered in a way that the description does not allow.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
PROPS = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1, "model_path": "m.gguf"}


async def chat(request: Request) -> Response:
    """Some words, streamed where that is asked for."""
    body = await request.json()
    if body.get("stream"):
        deltas = [{"role": "assistant", "content": "good "}, {"content": "day"}]
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        events = [f"data: {json.dumps({**CHUNK, 'choices': [choice]})}\n\n" for choice in choices]
        return StreamingResponse(iter([*events, "data: [DONE]\n\n"]), media_type="text/event-stream")
    message = {"role": "assistant", "content": "good day"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return JSONResponse({**CHUNK, "object": "chat.completion", "choices": choices, "usage": USAGE})


async def other(request: Request) -> Response:
    """What a llama-server says of itself, and one answer for all else."""
    known = {
        "/props": PROPS,
        "/health": {"status": "ok"},
        "/v1/models": {"object": "list", "data": [{"id": "m"}]},
    }
    return JSONResponse(known.get(request.url.path, {"object": "list", "data": []}))


BACKEND = Starlette(
    routes=[
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/tokenize", lambda _: JSONResponse({"tokens": [1, 2]}), methods=["POST"]),
        Route("/{path:path}", other, methods=["GET", "POST"]),
    ]
)


@contextlib.asynccontextmanager
async def served():
    """The URL of a proxy in front of :data:`BACKEND`."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(BACKEND, log_config=None, lifespan="off"))
    backend = asyncio.create_task(server.serve([listener]))
    runtime = Runtime(Settings(backend_url=f"http://127.0.0.1:{port}", backend="llamaserver", port=0))
    try:
        await runtime.open(require_backend=True)
        started = asyncio.Event()
        serving = asyncio.create_task(runtime.serve(started.set))
        await started.wait()
        yield runtime.url
        runtime.stop()
        await serving
    finally:
        await runtime.aclose()
        server.should_exit = True
        await backend


async def main() -> int:
    """Run schemathesis with the arguments of the command line added; its exit status."""
    with tempfile.TemporaryDirectory() as place:
        async with served() as url:
            process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("schemathesis")),
                "run",
                f"{url}/openapi.json",
                "--checks=all",
                # There is no key here to be ignored; and what Forge does not read itself, the backend refuses.
                "--exclude-checks=ignored_auth,negative_data_rejection",
                "--no-color",
                *sys.argv[1:],
                cwd=place,
                env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": place},
            )
            return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
