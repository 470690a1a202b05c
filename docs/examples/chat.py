"""A chat of several turns: the conversation is collected by on_message and passed on to the next turn."""

import os

from forge import ContextManager, LlamafileClient, NoCompact, Workflow, WorkflowRunner, respond_tool, tool
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType


@tool(parallel=True)
def look_up(topic: str) -> str:
    """Look a topic up in the handbook."""
    return {"holidays": "30 days a year"}.get(topic.lower(), "nothing found")


workflow = Workflow.from_tools([look_up, respond_tool()], terminal_tool="respond")


def main() -> None:
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    history: list[Message] = []
    runner = WorkflowRunner(client, ContextManager(NoCompact(), None), on_message=history.append)
    for question in ("How many holidays do I have?", "And if I work half-time?"):
        if history:
            history.append(Message(MessageRole.USER, question, MessageMeta(MessageType.USER_INPUT)))
        print(">", question)
        print(runner.run_sync(workflow, question, initial_messages=list(history)))
    runner.close()


if __name__ == "__main__":
    main()
