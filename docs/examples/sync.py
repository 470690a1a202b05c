"""The same without an event loop, and with what to do when a run fails."""

import os

from forge import ContextManager, LlamafileClient, NoCompact, Workflow, WorkflowRunner, tool
from forge.errors import ForgeError


@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


workflow = Workflow.from_tools([add], terminal_tool="add", system_prompt="Use add to answer.")


def main() -> None:
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    runner = WorkflowRunner(client, ContextManager(NoCompact(), None), max_iterations=6)
    try:
        print("the sum is", runner.run_sync(workflow, "What is 19 plus 23?"))
    except ForgeError as error:
        # Every error has a stable code and carries the conversation, so nothing that was done is lost.
        print(f"failed with {error.code} after {len(error.messages or [])} messages: {error}")
    finally:
        runner.close()


if __name__ == "__main__":
    main()
