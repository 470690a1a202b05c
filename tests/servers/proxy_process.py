"""The proxy's command as a process of its own."""

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

SOURCE = str(Path(__file__).parents[2] / "src")
CHAT = {"messages": [{"role": "user", "content": "hi"}]}


async def launch(*arguments, **environment):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FORGE_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "forge.proxy",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, "PYTHONPATH": SOURCE, **environment},
    )


@asynccontextmanager
async def running(*arguments, **environment):
    """A started command and the URL that it printed."""
    process = await launch("--port", "0", *arguments, **environment)
    try:
        first = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        found = re.fullmatch(r"forge proxy running at (http://\S+)\n", first)
        assert found, first + (await process.stderr.read()).decode()
        yield process, found[1]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def said(process, words):
    """The line of the log that holds ``words``, waited for."""
    async with asyncio.timeout(60):
        while words not in (line := await process.stderr.readline()):
            assert line, f"the log ended without {words!r}"
    return line


async def ended(*arguments, **environment):
    """Exit code and both outputs of a command that ends by itself."""
    process = await launch(*arguments, **environment)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()
