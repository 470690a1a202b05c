"""Many streams at once for a while, through one proxy, against a backend that speaks at a model's pace.

    make soak
    .venv/bin/python benchmarks/soak.py --streams 128 --seconds 60

Every stream has words of its own, and is read to its last byte: a word of another stream, a missing or a wrong one is
counted. Streams differ: text and calls with tools offered, calls that the model writes as text, a wrong name that costs
another attempt, text without tools, and some whose client leaves half-way: the backend notes when it sees the end of
those. Exit status 1 where something was wrong or a bound was passed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import psutil
import stack
from aiohttp import web
from rich.console import Console
from rich.table import Table

_TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Keep a word",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}
KINDS = ("text", "call", "written", "corrected", "plain", "left")
_MOST_BYTES_A_STREAM = 200_000
_MOST_SECONDS_AFTER_LEAVING = 1.0


@dataclass
class Seen:
    """What came of the streams so far."""

    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: dict[str, float] = field(default_factory=dict)
    resident: list[tuple[float, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """How much of it."""

    streams: int
    seconds: float
    words: int
    pace: float


async def soak(plan: Plan) -> int:
    async with (
        stack.scripted_backend(__file__, "--words", str(plan.words), "--pace", str(plan.pace)) as direct,
        stack.proxy("--backend-url", direct, "--log-level", "warning") as url,
    ):
        proxy = process_on(url)
        seen = Seen()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            # What is loaded with the first requests is no stream's.
            await asyncio.gather(
                *(one(session, url, kind, f"warm{n}", plan, seen) for n, kind in enumerate(KINDS))
            )
            idle = proxy.memory_info().rss
            busy = proxy.cpu_times()
            started = time.monotonic()
            watching = asyncio.create_task(watch(proxy, seen))
            end = started + plan.seconds
            await asyncio.gather(*(many(session, url, n, end, plan, seen) for n in range(plan.streams)))
            took = time.monotonic() - started
            watching.cancel()
            spent = sum(proxy.cpu_times()[:2]) - sum(busy[:2])
            async with session.get(f"{direct}/gone") as response:
                gone: dict[str, float] = await response.json()
    return report(plan, seen, gone, idle, spent / took)


def process_on(url: str) -> psutil.Process:
    """The proxy's own process; above it is the guard that ends it with us."""
    port = url.rpartition(":")[2]
    family = [p for p in psutil.Process().children(recursive=True) if port in p.cmdline()]
    return next(member for member in family if not member.children())


async def watch(proxy: psutil.Process, seen: Seen) -> None:
    while True:
        seen.resident.append((time.monotonic(), proxy.memory_info().rss))
        await asyncio.sleep(1)


# -- the clients ----------------------------------------------------------------------------------------------------


async def many(
    session: aiohttp.ClientSession, url: str, number: int, end: float, plan: Plan, seen: Seen
) -> None:
    """One stream after another until the time is over."""
    chance = random.Random(number)
    await asyncio.sleep(chance.random() * plan.words * plan.pace / 2)
    count = 0
    while time.monotonic() < end:
        kind = chance.choice(KINDS)
        await one(session, url, kind, f"s{number}n{count}", plan, seen)
        count += 1


async def one(session: aiohttp.ClientSession, url: str, kind: str, name: str, plan: Plan, seen: Seen) -> None:
    body: dict[str, Any] = {
        "model": "scripted",
        "messages": [{"role": "user", "content": f"{kind} {name}"}],
        "stream": True,
    }
    if kind != "plain":
        body["tools"] = [_TOOL]
    try:
        async with session.post(f"{url}/v1/chat/completions", json=body) as response:
            if response.status != 200:
                seen.wrong.append(f"{name} {kind}: status {response.status} {(await response.text())[:200]}")
                return
            text, calls, last = await read(response, leave_after=plan.words // 2 if kind == "left" else None)
            if kind == "left":
                seen.left[name] = time.monotonic()
                response.close()
                seen.ended[kind] += 1
                return
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        seen.wrong.append(f"{name} {kind}: {error!r}")
        return
    wanted = words(name, plan.words)
    got = calls[0]["word"] if len(calls) == 1 else text
    if got != wanted or last != "[DONE]" or bool(calls) is (kind in {"text", "plain"}):
        seen.wrong.append(f"{name} {kind}: {got[:100]!r} {len(calls)} calls, ended with {last[:100]!r}")
    seen.ended[kind] += 1


async def read(response: aiohttp.ClientResponse, leave_after: int | None) -> tuple[str, list[Any], str]:
    text, arguments, last, events = "", [""], "", 0
    async for line in response.content:
        if not line.startswith(b"data: "):
            continue
        last = line[6:].strip().decode()
        events += 1
        if last == "[DONE]" or events == leave_after:
            break
        for choice in json.loads(last)["choices"]:
            text += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or []:
                arguments[0] += call["function"].get("arguments") or ""
    return text, [json.loads(found) for found in arguments if found], last


def words(name: str, count: int) -> str:
    return "".join(f"{name}w{n} " for n in range(count))


# -- the verdict ----------------------------------------------------------------------------------------------------


def report(plan: Plan, seen: Seen, gone: dict[str, float], idle: int, cores: float) -> int:
    unseen = sorted(set(seen.left) - set(gone))
    after = sorted(gone[name] - when for name, when in seen.left.items() if name in gone)
    # The first seconds fill buffers and caches; what follows must not go on growing.
    settled = [size for when, size in seen.resident if when - seen.resident[0][0] > min(5, plan.seconds / 4)]
    peak = max(size for _, size in seen.resident)
    a_stream = (peak - idle) / plan.streams
    table = Table(
        title=f"{plan.streams} streams at once for {plan.seconds:g} s",
        title_justify="left",
        show_header=False,
    )
    rows = [
        (
            "streams ended",
            f"{sum(seen.ended.values())} ({', '.join(f'{n} {k}' for k, n in sorted(seen.ended.items()))})",
        ),
        ("words", f"{sum(seen.ended.values()) * plan.words:,}"),
        ("errors, wrong or foreign words", str(len(seen.wrong))),
        ("memory when idle, at the most", f"{idle / 1e6:.1f} MB, {peak / 1e6:.1f} MB"),
        ("memory for a stream", f"{a_stream / 1000:.0f} KB (bound {_MOST_BYTES_A_STREAM // 1000})"),
        ("growth from the first to the last seconds", f"{(settled[-1] - settled[0]) / 1e6:+.1f} MB"),
        ("processor", f"{cores:.2f} cores"),
        ("clients that left", f"{len(seen.left)}, not noticed {len(unseen)}"),
        ("backend's connection ended after", _spread(after)),
    ]
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    for line in seen.wrong[:10]:
        print(line)
    late = bool(after) and after[-1] > _MOST_SECONDS_AFTER_LEAVING
    return int(bool(seen.wrong) or bool(unseen) or late or a_stream > _MOST_BYTES_A_STREAM)


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    middle, most = seconds[len(seconds) // 2], seconds[-1]
    return f"{1000 * middle:.0f} ms (median), {1000 * most:.0f} ms (at the most)"


# -- the scripted backend, a process of its own -----------------------------------------------------------------


class Model:
    """Answers as the last user message of a request says: its kind and its name."""

    def __init__(self, count: int, pace: float) -> None:
        self.count = count
        self.pace = pace
        self.gone: dict[str, float] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A chat."""
        body = await request.json()
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"]
        kind, name = asked[0].split()
        if kind == "corrected":
            kind = "call" if len(body["messages"]) > 1 else "misnamed"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            await response.prepare(request)
            for event in self.events(kind, name):
                await response.write(event)
                await asyncio.sleep(self.pace)
            await response.write(b"data: [DONE]\n\n")
        except (ConnectionError, asyncio.CancelledError):
            self.gone[name] = time.monotonic()
            raise
        return response

    def events(self, kind: str, name: str) -> list[bytes]:
        """What one answer consists of."""
        pieces = [f"{name}w{n} " for n in range(self.count)]
        if kind in {"text", "plain", "left"}:
            return [
                chunk({"role": "assistant"}),
                *(chunk({"content": piece}) for piece in pieces),
                chunk({}, "stop"),
            ]
        if kind == "written":
            around = ('<tool_call>{"name": "note", "arguments": {"word": "', '"}}</tool_call>')
            return [
                *(chunk({"content": piece}) for piece in (around[0], *pieces, around[1])),
                chunk({}, "stop"),
            ]
        said = {
            "id": "call_1",
            "type": "function",
            "function": {"name": "note" if kind == "call" else "nope", "arguments": ""},
        }
        return [
            chunk({"role": "assistant", "tool_calls": [{"index": 0, **said}]}),
            *(
                chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
                for piece in ('{"word": "', *pieces, '"}')
            ),
            chunk({}, "tool_calls"),
        ]

    async def left(self, _: web.Request) -> web.Response:
        """When which of the streams was seen to end early."""
        return web.json_response(self.gone)


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


async def serve(port: int, model: Model) -> None:
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", model.answer), web.get("/gone", model.left)])
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(f"http://127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()  # until the owner ends it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--words", type=int, default=40, help="of one answer")
    parser.add_argument("--pace", type=float, default=0.1, help="seconds between words")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve, Model(options.words, options.pace)))
        return 0
    return asyncio.run(soak(Plan(options.streams, options.seconds, options.words, options.pace)))


if __name__ == "__main__":
    sys.exit(main())
