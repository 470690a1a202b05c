"""An MCP server made with the official library: ``python mcp_server.py`` for stdio, with a port for HTTP."""

import sys
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("test")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def greet(name: str, tone: Literal["warm", "cold"] = "warm") -> str:
    """Greet somebody."""
    return f"{tone} greetings to {name}"


@server.tool()
def fail(reason: str) -> str:
    """Fail."""
    raise ToolError(reason)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
