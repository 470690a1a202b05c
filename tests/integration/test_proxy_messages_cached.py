"""The Messages API in front of a real llama-server: calls, their results, what is read from the cache, and counts."""

import anthropic
import pytest
from servers.running import running_proxy

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
MARKED = {"cache_control": {"type": "ephemeral"}}


def system(number):
    header = f"x-anthropic-billing-header: cc_version=2.1.197.{number}; cc_entrypoint=cli;"
    return [
        {"type": "text", "text": header},
        {"type": "text", "text": "You help with the weather.", **MARKED},
    ]


async def answer(client, streamed, **fields):
    asked = {"model": "smollm2", "tools": [WEATHER], "max_tokens": 48, **fields}
    asked["extra_body"] = {"temperature": 0}
    if not streamed:
        return await client.messages.create(**asked)
    async with client.messages.stream(**asked) as events:
        return await events.get_final_message()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("streamed", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")])
async def test_a_call_and_what_follows_it(embedded_server, streamed):
    question = {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?", **MARKED}]}
    async with (
        running_proxy(embedded_server.base_url, backend="llamaserver", max_retries=0) as proxy,
        anthropic.AsyncAnthropic(base_url=proxy.url, api_key="none", timeout=250) as client,
    ):
        first = await answer(
            client, streamed, system=system("a05"), messages=[question], tool_choice={"type": "any"}
        )
        assert first.stop_reason == "tool_use"
        call = next(block for block in first.content if block.type == "tool_use")
        assert call.name == "get_weather"
        assert isinstance(call.input["city"], str)
        history = [
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": [block.model_dump(exclude_none=True) for block in first.content],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "18 C", **MARKED}],
            },
        ]
        second = await answer(client, streamed, system=system("b17"), messages=history)
        counted = await client.messages.count_tokens(
            model="smollm2", system=system("b17"), messages=history, tools=[WEATHER]
        )
    assert second.content
    assert second.stop_reason in ("end_turn", "max_tokens", "tool_use")
    # Neither the changed billing line nor the moved mark costs the prompt cache.
    read = second.usage.cache_read_input_tokens
    before = first.usage.input_tokens + first.usage.cache_read_input_tokens
    assert read >= 0.95 * before
    # The server counts the whole prompt, the billing line with it.
    prompt = second.usage.input_tokens + read
    assert 0.7 * prompt <= counted.input_tokens <= 1.5 * prompt
