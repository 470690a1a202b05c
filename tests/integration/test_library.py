"""The library on a real model: the workflow of the README, as a user writes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel, Field

from forge import (
    ChunkType,
    ContextManager,
    Guardrails,
    LlamafileClient,
    TieredCompact,
    ToolDef,
    ToolSpec,
    Workflow,
    WorkflowRunner,
    respond_tool,
    tool,
)
from forge.embedded.launch import EmbeddedServer
from forge.errors import WorkflowCancelledError

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

PROMPT = "You are a helpful assistant. Use the available tools to answer the user."


def get_weather(city: str) -> str:
    return f"72°F and sunny in {city}"


class GetWeatherParams(BaseModel):
    city: str = Field(description="City name")


WEATHER = Workflow(
    name="weather",
    description="Look up weather for a city.",
    tools={
        "get_weather": ToolDef(
            spec=ToolSpec(name="get_weather", description="Get current weather", parameters=GetWeatherParams),
            callable=get_weather,
        )
    },
    required_steps=[],
    terminal_tool="get_weather",
    system_prompt_template=PROMPT,
)


@pytest.fixture
async def client(embedded_server: EmbeddedServer) -> AsyncIterator[LlamafileClient]:
    client = LlamafileClient(
        "SmolLM2-135M-Instruct.gguf", base_url=f"{embedded_server.base_url}/v1", temperature=0
    )
    yield client
    await client.aclose()


def runner(client: LlamafileClient, **options: object) -> WorkflowRunner:
    context = ContextManager(strategy=TieredCompact(keep_recent=2), budget_tokens=8192)
    fields = {"max_tokens": 64}  # a model this small does not know when to stop
    return WorkflowRunner(client=client, context_manager=context, passthrough=fields, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True])
async def test_the_weather_workflow(client: LlamafileClient, stream: bool) -> None:
    result = await runner(client, stream=stream).run_detailed(WEATHER, "What's the weather in Paris?")

    assert result.value.startswith("72°F and sunny in ")
    assert result.report.prompt_tokens > 0


def test_the_weather_workflow_without_a_loop(embedded_server: EmbeddedServer) -> None:
    client = LlamafileClient(
        "SmolLM2-135M-Instruct.gguf", base_url=f"{embedded_server.base_url}/v1", temperature=0
    )
    weather = runner(client)

    for _ in range(2):
        assert "sunny in" in weather.run_sync(WEATHER, "What's the weather in Paris?")
    weather.close()


async def test_an_async_tool_from_a_function_that_must_be_constrained(client: LlamafileClient) -> None:
    @tool
    async def get_time(city: str, utc_offset: int = 0) -> str:
        """Get the current local time in a city.

        Args:
            city: City name.
            utc_offset: Hours from UTC.
        """
        return f"It is {14 + utc_offset}:05 in {city}."

    workflow = Workflow.from_tools([get_time], terminal_tool="get_time", system_prompt=PROMPT)
    result = await runner(client, max_retries_per_step=0).run_detailed(workflow, "What time is it in Oslo?")

    assert result.value.startswith("It is ")
    assert [call.constrained for call in result.report.model_calls] == [True]


async def test_the_respond_tool(client: LlamafileClient) -> None:
    workflow = Workflow.from_tools([respond_tool()], terminal_tool="respond", system_prompt=PROMPT)

    assert isinstance(await runner(client).run(workflow, "Say hello."), str)


async def test_a_loop_of_ones_own(client: LlamafileClient) -> None:
    spec = WEATHER.get_tool_specs()
    rails = Guardrails(spec, terminal_tool="get_weather")
    messages: list[dict[str, object]] = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": "What's the weather in Paris?"},
    ]
    for _ in range(6):
        response = await client.send(messages, tools=spec)
        check = rails.check(response)
        if check.action != "retry":
            break
        assert check.nudge is not None
        messages += [
            {"role": "assistant", "content": getattr(response, "content", "")},
            {"role": check.nudge.role, "content": check.nudge.content},
        ]
    assert check.action in {"execute", "retry", "tool_error", "fatal"}
    if check.action == "execute":
        assert check.tool_calls is not None
        assert rails.record([(call.tool, call.args) for call in check.tool_calls])


async def test_chunks_of_a_real_stream_end_in_one_final(client: LlamafileClient) -> None:
    types: list[ChunkType] = []

    async def show(chunk: object) -> None:
        types.append(chunk.type)  # type: ignore[attr-defined]

    await runner(client, stream=True, on_chunk=show).run(WEATHER, "What's the weather in Paris?")

    assert ChunkType.FINAL in types or ChunkType.RETRY in types


async def test_cancelling_during_a_real_model_call(client: LlamafileClient) -> None:
    cancel = asyncio.Event()

    async def first(_chunk: object) -> None:
        cancel.set()

    with pytest.raises(WorkflowCancelledError):
        await runner(client, stream=True, on_chunk=first).run(
            WEATHER, "Tell me a very long story.", cancel_event=cancel
        )


async def test_the_servers_tokenizer_counts(client: LlamafileClient) -> None:
    """Dense text has far more tokens than a guess by its length says."""
    plain, dense = "The weather in Paris is fine today. " * 20, "0x9f,-3.7e2;" * 60
    counts = [await client.count_tokens(text) for text in (plain, dense)]
    assert all(counts)
    assert counts[0] / len(plain) < 0.35 < counts[1] / len(dense)
