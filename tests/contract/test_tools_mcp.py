"""Tools of a real MCP server in a process of its own, over both transports."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from servers.ports import free_port

from forge import ContextManager, NoCompact, ToolCall, Workflow, WorkflowRunner, respond_tool
from forge.tools.mcp import McpConnectionError, McpToolError, mcp_tools

# Not importorskip: every worker that collects would import it, which takes longer than all that is in this file.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs the mcp extra"),
]

PROGRAM = str(Path(__file__).resolve().parents[1] / "servers" / "mcp_server.py")
STDIO = [sys.executable, PROGRAM]


@asynccontextmanager
async def http_server() -> AsyncIterator[str]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(*STDIO, str(port), stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        async for line in process.stderr:
            if b"running on" in line:
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_tools_are_listed_and_called(transport: str) -> None:
    async def check(server: object) -> None:
        async with mcp_tools(server, prefix="t_", timeout=30) as tools:
            by_name = {tool.name: tool for tool in tools}
            assert sorted(by_name) == ["t_add", "t_fail", "t_greet"]
            assert by_name["t_add"].spec.get_json_schema()["required"] == ["a"]
            assert (by_name["t_add"].parallel, by_name["t_greet"].parallel) == (True, False)
            assert by_name["t_add"].timeout == 30
            assert await by_name["t_add"](a=2, b=3) == "5"
            assert await by_name["t_greet"](name="Ada") == "warm greetings to Ada"
            with pytest.raises(McpToolError, match="broken"):
                await by_name["t_fail"](reason="broken")

    if transport == "stdio":
        await check(STDIO)
    else:
        async with http_server() as url:
            await check(url)


async def test_a_workflow_with_tools_of_a_server() -> None:
    class Client:
        answers = iter([
            [ToolCall("add", {"a": "2", "b": 3}), ToolCall("greet", {"name": "Ada", "tone": "hot"})],
            [ToolCall("fail", {"reason": "disk full"})],
            [ToolCall("respond", {"message": "done"})],
        ])  # fmt: skip

        async def send(
            self, messages, tools=None, sampling=None, passthrough=None, inbound_anthropic_body=None
        ):
            return next(self.answers)

    shown = []
    async with mcp_tools(STDIO) as tools:
        workflow = Workflow.from_tools([*tools, respond_tool()], terminal_tool="respond")
        runner = WorkflowRunner(Client(), ContextManager(NoCompact(), None), on_message=shown.append)
        assert await runner.run(workflow, "task") == "done"
    results = [message.content for message in shown if message.role.value == "tool"]
    assert results[0] == "5"
    assert "[ToolArgValidationError]" in results[1]
    assert "warm" in results[1]
    assert results[2].startswith("[ToolError] McpToolError: ")
    assert "disk full" in results[2]


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(["/no/such/program"], id="no-program"),
        pytest.param([sys.executable, "-c", "pass"], id="no-mcp"),
        pytest.param("http://user:secret@127.0.0.1:9/mcp", id="nobody-there"),
    ],
)
async def test_a_server_that_is_not_there_is_one_typed_error(server: object) -> None:
    with pytest.raises(McpConnectionError) as caught:
        async with mcp_tools(server):
            pytest.fail("connected")
    assert "secret" not in str(caught.value)
