"""Guardrails around a loop of your own: you send, Forge says what to do with each answer."""

import asyncio
import os

from forge import Guardrails, LlamafileClient, TextResponse, ToolCall, ToolDef, tool
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo


@tool
def search(query: str) -> str:
    """Search the documentation."""
    return f"3 pages about {query}"


@tool(prerequisites=["search"])
def answer(text: str) -> str:
    """Give the final answer."""
    return text


TOOLS: dict[str, ToolDef] = {"search": search, "answer": answer}


def call_message(calls: list[ToolCall]) -> dict[str, object]:
    infos = [ToolCallInfo(call.tool, call.args, call.id or f"call_{n}") for n, call in enumerate(calls)]
    message = Message(MessageRole.ASSISTANT, "", MessageMeta(MessageType.TOOL_CALL), tool_calls=infos)
    return message.to_api_dict("openai")


def result_message(call: ToolCall, number: int, content: str) -> dict[str, object]:
    return {
        "role": "tool",
        "name": call.tool,
        "tool_call_id": call.id or f"call_{number}",
        "content": content,
    }


async def main() -> None:
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    rails = Guardrails(TOOLS.values(), terminal_tool="answer", required_steps=["search"])
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "Search first, then give your answer with the answer tool."},
        {"role": "user", "content": "How do I install Forge?"},
    ]
    done = False
    while not done:
        response = await client.send(messages, tools=[tool_.spec for tool_ in TOOLS.values()])
        check = rails.check(response)
        print(check.action)
        if check.action == "fatal":
            print(check.reason)
            break
        if check.action == "retry":  # text where a call was needed
            assert isinstance(response, TextResponse)
            assert check.nudge is not None
            messages.append({"role": "assistant", "content": response.content})
            messages.append({"role": check.nudge.role, "content": check.nudge.content})
        elif check.action == "execute":
            calls = check.tool_calls or []
            messages.append(call_message(calls))
            for number, call in enumerate(calls):
                messages.append(result_message(call, number, str(TOOLS[call.tool](**call.args))))
            done = rails.record([(call.tool, call.args) for call in calls])
        else:  # tool_error or step_blocked: each call has its own answer
            assert isinstance(response, list)
            assert check.nudge is not None
            messages.append(call_message(response))
            for number, (call, correction) in enumerate(zip(response, check.nudge.corrections, strict=True)):
                messages.append(result_message(call, number, correction.content))
    print(messages[-1]["content"])
    await client.aclose()


if __name__ == "__main__":
    asyncio.run(main())
