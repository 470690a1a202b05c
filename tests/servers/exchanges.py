"""One exchange of a client with a scripted server, and what it said."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from servers.protocols import Protocol
from servers.scripted import Script, ScriptedServer

from forge.clients.transport import Timeouts
from forge.core.events import CallDelta, Delta, TextDelta
from forge.core.request import ChatMessage, Request, Text

TIMEOUTS = Timeouts(connect=30, first_byte=30, between_bytes=30)
ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), stream=True)


async def run(
    protocol: Protocol,
    *scripts: Script,
    timeouts: Timeouts = TIMEOUTS,
    deltas: list[Delta] | None = None,
    root: str | None = None,
    request: Request = ASK,
) -> list[Delta]:
    """The deltas of one exchange, which leaves no task and no connection behind."""
    deltas = [] if deltas is None else deltas
    before = asyncio.all_tasks()
    async with ScriptedServer(list(scripts), pages={}) as server:
        client = protocol.client(root or server.url, timeouts)
        try:
            async with asyncio.timeout(30):
                async for delta in client.exchange(request):
                    deltas.append(delta)
        finally:
            await client.aclose()
            async with asyncio.timeout(30):
                await asyncio.gather(*server._connections, return_exceptions=True)
    assert asyncio.all_tasks() <= before
    return deltas


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls(deltas: list[Delta]) -> list[tuple[str, Any]]:
    found: dict[int, tuple[str, str]] = {}
    for delta in deltas:
        if isinstance(delta, CallDelta):
            name, arguments = found.get(delta.index, ("", ""))
            found[delta.index] = (name + (delta.name or ""), arguments + delta.arguments)
    return [(name, json.loads(arguments)) for name, arguments in found.values()]


def head(protocol: Protocol, *lines: str) -> bytes:
    """The head of a good answer, with further header lines."""
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Type: {protocol.kind}", *lines, "", ""]).encode()


def started(protocol: Protocol) -> list[bytes]:
    """A stream that has said "Hel" so far."""
    return protocol.events(*protocol.head, protocol.text("Hel"))
