"""A retry only appends: the real server has read nearly all of its prompt before, by its own count."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec import structs

from forge.clients.llamafile import LlamafileClient
from forge.core.drive import drive
from forge.core.events import Finished
from forge.core.request import Tool
from forge.embedded.launch import EmbeddedServer
from forge.engine import Policy, Turn
from forge.wire.openai import decode_request

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

CHAT = """{"messages": [
  {"role": "system", "content": "You greet people. You answer in one short sentence."},
  {"role": "user", "content": "Say hello to Ann, in words."},
  {"role": "assistant", "content": "Hello Ann!"},
  {"role": "user", "content": "Say hello to Bob, in words."}
], "max_tokens": 12, "temperature": 0, "stream": true}"""
TOOLS = tuple(
    Tool(
        name=name,
        description=f"Use it to {name.replace('_', ' ')} in a city",
        parameters={
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
        },
    )
    for name in ("get_weather", "tell_time", "find_hotel")
)


@pytest.fixture
def server(
    request: pytest.FixtureRequest, embedded_server: EmbeddedServer, toolless_server: EmbeddedServer
) -> EmbeddedServer:
    """The server that the test's parameter names; both run anyway, since an async fixture cannot be asked for late."""
    return {"embedded_server": embedded_server, "toolless_server": toolless_server}[request.param]


@pytest.mark.parametrize("server", ["embedded_server", "toolless_server"], indirect=True)
async def test_an_attempt_reuses_what_the_one_before_had_read(server: EmbeddedServer) -> None:
    """Corrected once in words, once by a constrained attempt: both go on from the same prompt."""
    asked = decode_request(CHAT.encode())

    client = LlamafileClient("model.gguf", f"{server.base_url}/v1")
    try:
        turn = Turn(
            structs.replace(asked, tools=TOOLS),
            Policy(text_policy="nudge", max_retries=2),
            await client.capabilities(),
        )
        outputs = [output async for together in drive(turn, client) for output in together]
        finished = outputs[-1]
        assert isinstance(finished, Finished)
    finally:
        await client.aclose()

    usages = [attempt.usage for attempt in finished.attempts]
    assert len(usages) >= 2
    for before, after in pairwise(usages):
        assert before is not None
        assert after is not None
        assert after.prompt_tokens > before.prompt_tokens
        assert after.cached_tokens >= 0.95 * before.prompt_tokens
