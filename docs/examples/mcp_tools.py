"""Tools of an MCP server in a workflow. MCP_SERVER is the command that starts one, or a URL. Needs the extra [mcp]."""

import asyncio
import os
import shlex

from forge import ContextManager, LlamafileClient, TieredCompact, Workflow, WorkflowRunner, respond_tool
from forge.tools.mcp import mcp_tools


async def main() -> None:
    server = os.environ.get("MCP_SERVER", "uvx mcp-server-time")
    client = LlamafileClient(
        "my-model.gguf", base_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    )
    address = server if server.startswith("http") else shlex.split(server)
    async with mcp_tools(address, prefix="server_", timeout=30) as tools:
        print("tools:", ", ".join(tool.name for tool in tools))
        workflow = Workflow.from_tools([*tools, respond_tool()], terminal_tool="respond")
        runner = WorkflowRunner(client, ContextManager(TieredCompact(), budget_tokens=8192))
        result = await runner.run_detailed(workflow, "What is 19 plus 23?")
        print(result.value)
        print("used:", ", ".join(run.tool for run in result.report.tool_runs))
        await runner.aclose()


if __name__ == "__main__":
    asyncio.run(main())
