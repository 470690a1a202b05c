"""Who listens on a port: nobody, a process of ours, or a stranger."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import psutil

_CONNECT_SECONDS = 2.0


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


async def answers(host: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def listens(pid: int, port: int) -> bool | None:
    """Whether the process or a descendant of it listens on the port; None where the system does not tell."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
        connections = [each for process in family for each in _connections(process)]
    except psutil.AccessDenied:
        return None
    except psutil.NoSuchProcess:
        return False
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections)


def _connections(process: psutil.Process) -> list[Any]:
    try:
        return list(process.net_connections(kind="tcp"))
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []  # it ended between the two questions


def memory_of(pid: int) -> int:
    """Resident bytes of a process and its descendants; grows while a model is loaded."""
    try:
        root = psutil.Process(pid)
        return sum(process.memory_info().rss for process in [root, *root.children(recursive=True)])
    except psutil.Error:
        return 0
