"""One model slot, many callers: urgent work first, and the work that it displaced later."""

import asyncio
import os

from forge import ContextManager, LlamafileClient, NoCompact, SlotWorker, Workflow, WorkflowRunner, tool


@tool
def report(text: str) -> str:
    """Give the report."""
    return text


workflow = Workflow.from_tools([report], terminal_tool="report", system_prompt="Answer with the report tool.")


async def main() -> None:
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    runner = WorkflowRunner(client, ContextManager(NoCompact(), None))
    async with SlotWorker(runner) as worker:
        nightly = asyncio.create_task(worker.submit(workflow, "Nightly report", priority=10, requeue=True))
        urgent = asyncio.create_task(worker.submit(workflow, "A user is waiting", priority=0))
        print("urgent: ", await urgent)
        print("nightly:", await nightly)
    await runner.aclose()


if __name__ == "__main__":
    asyncio.run(main())
