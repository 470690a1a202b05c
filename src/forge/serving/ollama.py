"""An Ollama that runs already: Forge attaches to it, and never ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from typing import Any

from yarl import URL

from forge.clients.transport import Timeouts, Transport
from forge.clients.urls import join, masked, parse_url
from forge.errors import BackendError, BackendUnreachableError, StreamError
from forge.wire.json_text import dumps, loads

logger = logging.getLogger(__name__)

_DEFAULT = "http://localhost:11434"
_DEFAULT_PORT = 11434
_TIMEOUTS = Timeouts(connect=2.0, first_byte=5.0, between_bytes=5.0, total=5.0)
_UNLOAD_SECONDS = 30.0


def configured_root() -> str:
    """The server's root as ``OLLAMA_HOST`` names it (``host``, ``host:port`` or a URL), else the usual one."""
    said = os.environ.get("OLLAMA_HOST", "").strip()
    if not said:
        return _DEFAULT
    url = URL(said if "://" in said else f"http://{said}")
    if "://" not in said and url.explicit_port is None:
        url = url.with_port(_DEFAULT_PORT)
    # A server may listen everywhere; nobody can connect to everywhere.
    return str(url.with_host("127.0.0.1") if url.host == "0.0.0.0" else url)  # noqa: S104 - recognised


class Ollama:
    """The server at ``root`` and one of its models."""

    def __init__(self, root: str, model: str) -> None:
        self.root = root.rstrip("/")
        self.model = model
        self._url = parse_url(root)
        self._transport = Transport(_TIMEOUTS)

    @property
    def log_name(self) -> str:
        """Its address, fit for messages."""
        return masked(self.root)

    async def version(self) -> str | None:
        """Its version; None where no Ollama answers."""
        answer = await self._ask("GET", "/api/version")
        version = answer.get("version") if isinstance(answer, dict) else None
        return version if isinstance(version, str) else None

    async def attach(self) -> None:
        """Look whether it is there. It may also come later, so that is said, not raised."""
        version = await self.version()
        if version is None:
            logger.warning("no Ollama answers at %s yet; start it with: ollama serve", self.log_name)
        else:
            logger.info("attached to Ollama %s at %s for %s", version, self.log_name, self.model)

    async def unload(self) -> None:
        """Let it free the model's memory, by ``ollama stop`` where that program is installed. Never raises."""
        program = shutil.which("ollama")
        if program is None:
            await self._ask("POST", "/api/generate", dumps({"model": self.model, "keep_alive": 0}))
        else:
            await self._run_stop(program)

    async def aclose(self) -> None:
        """Close connections."""
        await self._transport.aclose()

    async def _run_stop(self, program: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *(program, "stop", self.model),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "OLLAMA_HOST": self.root},
        )
        try:
            async with asyncio.timeout(_UNLOAD_SECONDS):
                _, said = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            logger.warning("ollama stop %s did not end in time", self.model)
            return
        if process.returncode != 0:
            logger.warning("ollama stop %s: %s", self.model, said.decode("utf-8", "replace").strip())

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        try:
            async with self._transport.open(method, join(self._url, path), headers={}, body=body) as incoming:
                return loads(await incoming.read()) if incoming.status == 200 else None
        except (BackendError, BackendUnreachableError, StreamError, ValueError):
            return None
