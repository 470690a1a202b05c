"""What the proxy adds to a streamed answer, against a scripted backend that answers at once.

    make bench-overhead
    .venv/bin/python benchmarks/proxy_overhead.py --requests 500 --tokens 64

Straight and proxied requests alternate, one at a time, so that whatever else the machine does hits both. Shown are
medians and 95th percentiles, in milliseconds, of the time to the first token and to the end of the stream.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from dataclasses import dataclass

import aiohttp
import stack
from aiohttp import web
from rich.console import Console
from rich.table import Table

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@dataclass(frozen=True)
class Timing:
    """Seconds from sending a request to its first token and to its end."""

    first: float
    whole: float


async def measure(options: argparse.Namespace) -> None:
    async with (
        stack.scripted_backend(__file__, "--tokens", str(options.tokens)) as direct,
        stack.proxy("--backend-url", direct) as proxied,
    ):
        targets = {"straight": direct, "through Forge": proxied}
        timings: dict[str, list[Timing]] = {name: [] for name in targets}
        async with aiohttp.ClientSession() as session:
            for number in range(options.warmup + options.requests):
                for name, url in targets.items():
                    timing = await stream(session, url)
                    if number >= options.warmup:
                        timings[name].append(timing)
    Console().print(report(timings, options.tokens))


async def stream(session: aiohttp.ClientSession, base_url: str) -> Timing:
    body = {"messages": [{"role": "user", "content": "Hello"}], "tools": [_TOOL], "stream": True}
    started = time.perf_counter()
    first = 0.0
    async with session.post(f"{base_url}/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.content:
            if not first and b'"content":"' in line.replace(b": ", b":"):
                first = time.perf_counter() - started
    return Timing(first, time.perf_counter() - started)


def report(timings: dict[str, list[Timing]], tokens: int) -> Table:
    table = Table(
        title=f"{len(timings['straight'])} streamed answers of {tokens} tokens (ms)", title_justify="left"
    )
    for heading in ("", "first token", "95 %", "whole answer", "95 %"):
        table.add_column(heading, justify="right" if heading else "left")
    rows = {name: figures(of) for name, of in timings.items()}
    rows["added by Forge"] = [a - b for a, b in zip(rows["through Forge"], rows["straight"], strict=True)]
    for name, row in rows.items():
        table.add_row(name, *(f"{1000 * value:.2f}" for value in row))
    return table


def figures(timings: list[Timing]) -> list[float]:
    columns = [sorted(timing.first for timing in timings), sorted(timing.whole for timing in timings)]
    return [
        value for column in columns for value in (statistics.median(column), column[int(len(column) * 0.95)])
    ]


# -- the scripted backend, a process of its own -----------------------------------------------------------------


def serve(port: int, tokens: int) -> None:
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", answer), web.get("/v1/models", models)])
    app["events"] = [event({"role": "assistant"}), *(event({"content": f"word{n} "}) for n in range(tokens))]
    app["events"] += [event({}, "stop"), b"data: [DONE]\n\n"]
    asyncio.run(run_server(app, port))


async def run_server(app: web.Application, port: int) -> None:
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(f"http://127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()  # until the owner ends it


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def answer(request: web.Request) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for one in request.app["events"]:
        await response.write(one)
    await response.write_eof()
    return response


async def models(_request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=32, help="tokens of an answer")
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is None:
        stack.run(measure(options))
    else:
        serve(options.serve, options.tokens)


if __name__ == "__main__":
    main()
