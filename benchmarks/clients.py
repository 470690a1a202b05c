"""CPU time that a client spends per streamed token, against reading the same bytes with bare aiohttp.

    python benchmarks/clients.py [--client llamafile|vllm|openai|ollama|anthropic] [--events 2000] [--streams 16]

A child process plays the server. *burst*: a whole answer at once, so that what decoding costs shows alone.
*paced*: every event in a packet of its own, on several streams at once, as real generation arrives; most of the
cost is then the event loop's and the kernel's, for both readers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import aiohttp

from forge.clients import AnthropicClient, LlamafileClient, OllamaClient, OpenAICompatClient, VLLMClient
from forge.clients.model_client import ModelClient
from forge.core.events import TextDelta
from forge.core.request import ChatMessage, Request, Text

ENVELOPE = {
    "created": 1796025123,
    "id": "chatcmpl-1dJ6Kwk9FVuHTwXUxSL4yxwOA1oixupL",
    "model": "smollm2-135m-instruct",
    "system_fingerprint": "b0-unknown",
    "object": "chat.completion.chunk",
}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
PROPS = json.dumps(
    {"default_generation_settings": {"n_ctx": 4096}, "chat_template_caps": {"supports_tools": True}}
)
REPEATS = 5


def event(value: object) -> bytes:
    return b"data: %b\n\n" % json.dumps(value, separators=(",", ":")).encode()


def chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    return event({"choices": [{"finish_reason": reason, "index": 0, "delta": delta}], **ENVELOPE})


def line(content: str, **more: object) -> bytes:
    when = {"model": "qwen2.5-coder:1.5b", "created_at": "2026-11-30T08:12:18.855180752Z"}
    message = {"role": "assistant", "content": content}
    return (
        json.dumps({**when, "message": message, "done": False, **more}, separators=(",", ":")).encode()
        + b"\n"
    )


@dataclass(frozen=True)
class Wire:
    """A protocol's stream (``text`` once per token), where it is asked for, and who reads it."""

    path: str
    start: list[bytes]
    text: bytes
    end: list[bytes]
    client: Callable[[str], ModelClient]
    kind: bytes = b"text/event-stream"


def openai(client: Callable[[str], ModelClient]) -> Wire:
    start, end = [chunk({"role": "assistant", "content": None})], [chunk({}, "stop"), b"data: [DONE]\n\n"]
    return Wire("/v1/chat/completions", start, chunk({"content": " token"}), end, client)


WIRES = {
    "llamafile": openai(lambda root: LlamafileClient("model.gguf", f"{root}/v1")),
    "openai": openai(lambda root: OpenAICompatClient("m", f"{root}/v1")),
    "vllm": openai(lambda root: VLLMClient("m", base_url=f"{root}/v1", adopt_served_identity=False)),
    "ollama": Wire(
        "/api/chat",
        [],
        line(" token"),
        [line("", done=True, done_reason="stop")],
        lambda root: OllamaClient("m", root),
        b"application/x-ndjson",
    ),
    "anthropic": Wire(
        "/v1/messages",
        [
            event(
                {
                    "type": "message_start",
                    "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 1}},
                }
            )
        ],
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " token"}}),
        [
            event(
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
            ),
            event({"type": "message_stop"}),
        ],
        lambda root: AnthropicClient("m", "k", base_url=root),
    ),
}


def framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: bytes, events: list[bytes], pause: float
) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        headers = head.lower().split(b"\r\n")
        length = next((line for line in headers if line.startswith(b"content-length")), b": 0")
        await reader.readexactly(int(length.partition(b":")[2]))
        if head.startswith((b"GET", b"POST /api/show")):
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(PROPS)}\r\n\r\n{PROPS}".encode())
            continue
        writer.write(HEAD % kind)
        if pause:
            for one in events:
                writer.write(framed(one))
                await asyncio.sleep(pause)
        else:
            writer.write(b"".join(map(framed, events)))
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def serve(pipe: Connection, name: str, count: int, pause: float) -> None:
    wire = WIRES[name]
    events = [*wire.start, *[wire.text] * count, *wire.end]

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer, wire.kind, events, pause)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def measure(
    readers: Sequence[Callable[[], Awaitable[object]]], streams: int, count: int
) -> list[float]:
    """CPU microseconds per event of each reader: the least of several runs, in turns, since a busy machine only adds."""
    costs: list[list[float]] = [[] for _ in readers]
    for _ in range(REPEATS + 1):  # the first run is for warming up
        for cost, read in zip(costs, readers, strict=True):
            before = time.process_time()
            await asyncio.gather(*(read() for _ in range(streams)))
            cost.append((time.process_time() - before) / (streams * count) * 1e6)
    return [min(cost[1:]) for cost in costs]


async def compare(port: int, wire: Wire, streams: int, count: int) -> tuple[float, float]:
    root = f"http://127.0.0.1:{port}"
    request = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), stream=True)
    client = wire.client(root)

    async def ours() -> None:
        got = 0
        async for delta in client.exchange(request):
            got += isinstance(delta, TextDelta)
        assert got == count

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:

        async def bare() -> None:
            async with session.post(f"{root}{wire.path}", data=b"{}") as response:
                async for _ in response.content.iter_any():
                    pass

        least, with_client = await measure((bare, ours), streams, count)
    await client.aclose()
    return least, with_client


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", choices=sorted(WIRES), default="llamafile")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=16)
    options = parser.parse_args()
    print(f"{'':8}{'bare aiohttp':>14}{'client':>10}{'overhead':>10}{'ratio':>8}   (CPU us per token)")
    for name, pause, streams, count in (
        ("burst", 0.0, 1, options.events),
        ("paced", 0.005, options.streams, options.events // 10),
    ):
        ours_end, server_end = multiprocessing.Pipe()
        server = multiprocessing.Process(
            target=serve, args=(server_end, options.client, count, pause), daemon=True
        )
        server.start()
        bare, client = asyncio.run(compare(ours_end.recv(), WIRES[options.client], streams, count))
        server.terminate()
        server.join()
        print(f"{name:8}{bare:14.2f}{client:10.2f}{client - bare:10.2f}{client / bare:8.2f}")


if __name__ == "__main__":
    main()
