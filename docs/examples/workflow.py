"""A workflow: look something up, then answer. Needs a llama-server; FORGE_BACKEND_URL says where."""

import asyncio
import os

from forge import ContextManager, LlamafileClient, TieredCompact, Workflow, WorkflowRunner, respond_tool, tool


@tool(timeout=10, parallel=True)
async def get_weather(city: str, days: int = 1) -> dict[str, object]:
    """Get the weather of a city.

    Args:
        city: City name, in English.
        days: How many days ahead.
    """
    return {"city": city, "days": days, "temperature": 22, "sky": "clear"}


workflow = Workflow.from_tools(
    [get_weather, respond_tool()],
    required_steps=["get_weather"],
    terminal_tool="respond",
    system_prompt="Look up the weather with get_weather, then tell the user with respond.",
)


async def main() -> None:
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    context = ContextManager(TieredCompact(keep_recent=2), budget_tokens=8192)
    runner = WorkflowRunner(
        client, context, on_message=lambda message: print(f"  {message.metadata.type.value}")
    )
    result = await runner.run_detailed(workflow, "What is the weather in Paris?")
    print(result.value)
    report = result.report
    print(f"{report.attempts} model calls, {report.retries} rejected, {len(report.fixes)} arguments mended")
    await runner.aclose()


if __name__ == "__main__":
    asyncio.run(main())
