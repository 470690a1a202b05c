"""The Responses API in front of a real llama-server: a call, its result by the id of the response, and the cached prompt."""

import json
from pathlib import Path

import openai
import pytest
from openai.types.responses import Response
from servers.running import running_proxy

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

CODEX = json.loads((Path(__file__).parents[1] / "fixtures/clients/codex/first.json").read_text())
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather of a city",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


async def answer(client, streamed, **fields):
    asked = {"model": "smollm2", "tools": [WEATHER], "max_output_tokens": 48, "temperature": 0, **fields}
    if not streamed:
        return await client.responses.create(**asked)
    async with client.responses.stream(**asked) as events:
        return await events.get_final_response()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("streamed", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")])
async def test_a_call_and_what_follows_it(embedded_server, streamed):
    async with (
        running_proxy(embedded_server.base_url, backend="llamaserver", max_retries=0) as proxy,
        openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none", timeout=250) as client,
    ):
        first = await answer(client, streamed, input="What is the weather in Paris?", tool_choice="required")
        call = next(item for item in first.output if item.type == "function_call")
        assert call.name == "get_weather"
        assert isinstance(json.loads(call.arguments)["city"], str)
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "18 degrees, sunny"}
        second = await answer(client, streamed, input=[result], previous_response_id=first.id)
    assert second.output
    assert second.status in ("completed", "incomplete")
    # The server had read the beginning already: the second chat only added to the first.
    assert second.usage.input_tokens_details.cached_tokens >= 0.95 * first.usage.input_tokens


@pytest.mark.timeout(300)
async def test_codex_is_understood(embedded_server):
    """All that Codex sends (namespaces, grammars, developer messages) is something that a real server takes."""
    body = {**CODEX, "max_output_tokens": 16, "stream": False}
    async with (
        running_proxy(embedded_server.base_url, backend="llamaserver", max_retries=0) as proxy,
        openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none", timeout=250) as client,
    ):
        answer = await client.post("/responses", body=body, cast_to=Response)
    assert answer.status in ("completed", "incomplete")
    assert 0 < answer.usage.output_tokens <= 16
    assert answer.usage.input_tokens > 300
