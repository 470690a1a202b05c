"""Tools of MCP servers, over stdio or streamable HTTP, as tools of a workflow. Needs the extra ``[mcp]``."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from forge.core.workflow import ToolDef, ToolSpec
from forge.errors import ForgeError

if TYPE_CHECKING:
    from mcp.client.client import Client

__all__ = ["McpConnectionError", "McpServer", "McpToolError", "mcp_tools"]

McpServer: TypeAlias = str | Sequence[str] | Any
"""A server: the URL of a streamable HTTP endpoint, a command line to start (as a list of words), or anything else
that the official client connects to (``StdioServerParameters``, a transport, a server object)."""


class McpConnectionError(ForgeError):
    """An MCP server cannot be started, reached or understood; ``cause`` says why."""

    code = "mcp_unreachable"
    hint = "Is the command or the URL right, and does the server speak MCP?"

    def __init__(self, server: str, cause: BaseException) -> None:
        super().__init__(f"no MCP server at {server}: {_first(cause)}")
        self.server = server
        self.cause = cause


class McpToolError(ForgeError):
    """An MCP tool reported that it failed; the text is what it said, for the model to read."""

    code = "mcp_tool_failed"


@asynccontextmanager
async def mcp_tools(
    server: McpServer,
    *,
    prefix: str = "",
    timeout: float | None = None,  # noqa: ASYNC109 - not of this function: of each tool
) -> AsyncIterator[list[ToolDef]]:
    """Connect to an MCP server and give its tools; they work until the context ends, which stops a started server.

    Args:
        server: where it is, or how to start it.
        prefix: put before each tool's name, to keep the tools of several servers apart.
        timeout: seconds for each call of a tool; None for no limit.

    Raises:
        McpConnectionError: it cannot be started or reached.
        ModuleNotFoundError: the extra is not installed.

    Schemas are kept as the server gives them. Tools that the server calls read-only may run beside each other. A
    call gives the text of the result, or its structured content where there is no text.
    """
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(_client(server))
            listed = await _all_tools(client)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError):
                raise
            raise McpConnectionError(_shown(server), error) from error
        yield [_tool(client, described, prefix, timeout) for described in listed]


def _client(server: McpServer) -> Client:
    try:
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "MCP tools need the official client: pip install 'forge-guardrails[mcp]'", name=error.name
        ) from error
    if isinstance(server, Sequence) and not isinstance(server, str):
        command, *arguments = server
        return Client(StdioServerParameters(command=command, args=arguments))
    return Client(server)


async def _all_tools(client: Client) -> list[Any]:
    page = await client.list_tools()
    tools = list(page.tools)
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        tools.extend(page.tools)
    return tools


def _tool(client: Client, described: Any, prefix: str, timeout: float | None) -> ToolDef:
    spec = ToolSpec.from_json_schema(
        f"{prefix}{described.name}", described.description or described.title or "", described.input_schema
    )
    hints = described.annotations
    call: Callable[..., Any] = functools.partial(_call, client, described.name)
    read_only = hints is not None and hints.read_only_hint is True
    return ToolDef(spec, call, timeout=timeout, parallel=read_only)


async def _call(client: Client, name: str, /, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    text = "\n".join(filter(None, (_text(block) for block in result.content)))
    if result.is_error:
        raise McpToolError(text or f"{name} failed without saying why")
    return text if text or result.structured_content is None else result.structured_content


def _text(block: Any) -> str:
    """A content block as text; what is no text is named, so that the model knows that it is there."""
    resource = getattr(block, "resource", block)
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return text
    kind = getattr(resource, "mime_type", None) or block.type
    where = getattr(resource, "uri", None)
    return f"[{kind}{f' at {where}' if where else ''}]"


def _shown(server: McpServer) -> str:
    if isinstance(server, str):
        # A URL may carry a credential; what stands before the host is not shown.
        scheme, found, rest = server.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}" if found else server
    return " ".join(server) if isinstance(server, Sequence) else type(server).__name__


def _first(error: BaseException) -> str:
    """The first real error of a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
