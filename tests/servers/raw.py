"""A server that speaks whatever bytes a test makes of its connections."""

import asyncio
from contextlib import asynccontextmanager


@asynccontextmanager
async def raw_connections(serve):
    """Run ``serve(reader, writer)`` for each connection, close it then; gives the port on 127.0.0.1."""

    async def accept(reader, writer):
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client left
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
