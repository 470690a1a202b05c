"""Policies on a real llama-server: a history that it refuses is put right and read once, and a named tool is the one called."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from servers.running import running_proxy

from forge.embedded.launch import EmbeddedServer

pytestmark = [pytest.mark.anyio, pytest.mark.integration]


def tool(name: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
    }
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = [tool("get_weather"), tool("tell_time")]


def call(call_id: str | None, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


BROKEN: list[dict[str, Any]] = [
    {"role": "system", "content": "You know the weather and the time. You answer in one short sentence."},
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", "get_weather<|x|>", "{'city': 'Paris',}")],
    },
    {"role": "tool", "tool_call_id": "a", "content": "sunny, 21 degrees"},
    {"role": "assistant", "content": None, "tool_calls": [call("a", "tell_time", "Paris, I think")]},
    {"role": "user", "content": "And in Rome? The weather, please."},
]
MORE = [{"role": "assistant", "content": "It is cloudy in Rome."}, {"role": "user", "content": "Thank you!"}]


async def test_a_history_that_the_server_refuses_is_put_right_and_read_once(
    embedded_server: EmbeddedServer,
) -> None:
    asked = {
        "model": "m",
        "max_tokens": 2,
        "temperature": 0,
        "tools": TOOLS,
        "extra_body": {"forge": {"max_retries": 0}},
    }
    direct = openai.AsyncOpenAI(
        base_url=f"{embedded_server.base_url}/v1", api_key="none", max_retries=0, timeout=120
    )
    async with direct:
        with pytest.raises(openai.APIStatusError):
            await direct.chat.completions.create(messages=BROKEN, model="m", max_tokens=2, tools=TOOLS)
    async with (
        running_proxy(embedded_server.base_url, backend="llamaserver") as proxy,
        openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0, timeout=120) as client,
    ):
        first = await client.chat.completions.create(messages=BROKEN, **asked)
        second = await client.chat.completions.create(messages=[*BROKEN, *MORE], **asked)

    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.prompt_tokens > first.usage.prompt_tokens
    details = second.usage.prompt_tokens_details
    assert details is not None
    assert (details.cached_tokens or 0) >= 0.95 * first.usage.prompt_tokens


@pytest.mark.parametrize("name", ["get_weather", "tell_time"])
async def test_the_named_tool_is_the_one_that_is_called(embedded_server: EmbeddedServer, name: str) -> None:
    async with (
        running_proxy(embedded_server.base_url, backend="llamaserver") as proxy,
        openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0, timeout=120) as client,
    ):
        answer = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "How is the weather in Paris?"}],
            tools=TOOLS,
            tool_choice={"type": "function", "function": {"name": name}},
            max_tokens=60,
            temperature=0,
        )
    (made,) = answer.choices[0].message.tool_calls or []
    assert made.function.name == name
    assert isinstance(json.loads(made.function.arguments)["city"], str)
