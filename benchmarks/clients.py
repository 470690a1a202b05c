"""CPU time that the llama-server client spends per streamed token, against reading the same bytes with bare aiohttp.

    python benchmarks/clients.py [--events 2000] [--streams 16]

A child process plays the server. *burst*: a whole answer at once, so that what decoding costs shows alone.
*paced*: every event in a packet of its own, on several streams at once, as real generation arrives; most of the
cost is then the event loop's and the kernel's, for both readers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import aiohttp

from forge.clients.llamafile import LlamafileClient
from forge.core.events import TextDelta
from forge.core.request import ChatMessage, Request, Text

ENVELOPE = {
    "created": 1796025123,
    "id": "chatcmpl-1dJ6Kwk9FVuHTwXUxSL4yxwOA1oixupL",
    "model": "smollm2-135m-instruct",
    "system_fingerprint": "b0-unknown",
    "object": "chat.completion.chunk",
}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PROPS = json.dumps(
    {"default_generation_settings": {"n_ctx": 4096}, "chat_template_caps": {"supports_tools": True}}
)
REPEATS = 5


def event(delta: dict[str, object], reason: str | None = None) -> bytes:
    choice = {"finish_reason": reason, "index": 0, "delta": delta}
    return b"data: %b\n\n" % json.dumps({"choices": [choice], **ENVELOPE}, separators=(",", ":")).encode()


def framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: list[bytes], pause: float
) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        if head.startswith(b"GET"):
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(PROPS)}\r\n\r\n{PROPS}".encode())
            continue
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(HEAD)
        if pause:
            for one in events:
                writer.write(framed(one))
                await asyncio.sleep(pause)
        else:
            writer.write(b"".join(map(framed, events)))
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def serve(pipe: Connection, count: int, pause: float) -> None:
    text = [event({"content": " token"}) for _ in range(count)]
    events = [event({"role": "assistant", "content": None}), *text, event({}, "stop"), b"data: [DONE]\n\n"]

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer, events, pause)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def measure(read: Callable[[], Awaitable[object]], streams: int, count: int) -> float:
    """Median CPU microseconds per event."""
    await read()
    costs = []
    for _ in range(REPEATS):
        before = time.process_time()
        await asyncio.gather(*(read() for _ in range(streams)))
        costs.append((time.process_time() - before) / (streams * count) * 1e6)
    return statistics.median(costs)


async def compare(port: int, streams: int, count: int) -> tuple[float, float]:
    url = f"http://127.0.0.1:{port}/v1"
    request = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), stream=True)
    client = LlamafileClient("model.gguf", url)

    async def ours() -> None:
        got = 0
        async for delta in client.exchange(request):
            got += isinstance(delta, TextDelta)
        assert got == count

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:

        async def bare() -> None:
            async with session.post(f"{url}/chat/completions", data=b"{}") as response:
                async for _ in response.content.iter_any():
                    pass

        results = await measure(bare, streams, count), await measure(ours, streams, count)
    await client.aclose()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=16)
    options = parser.parse_args()
    print(f"{'':8}{'bare aiohttp':>14}{'client':>10}{'overhead':>10}{'ratio':>8}   (CPU us per token)")
    for name, pause, streams, count in (
        ("burst", 0.0, 1, options.events),
        ("paced", 0.005, options.streams, options.events // 10),
    ):
        ours_end, server_end = multiprocessing.Pipe()
        server = multiprocessing.Process(target=serve, args=(server_end, count, pause), daemon=True)
        server.start()
        bare, client = asyncio.run(compare(ours_end.recv(), streams, count))
        server.terminate()
        server.join()
        print(f"{name:8}{bare:14.2f}{client:10.2f}{client - bare:10.2f}{client / bare:8.2f}")


if __name__ == "__main__":
    main()
