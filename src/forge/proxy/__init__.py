"""The proxy: HTTP doors in front of the engine.

``python -m forge.proxy`` is the command, :class:`ProxyServer` the same inside another program, and
``forge.proxy.app.create_app`` the bare ASGI application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.proxy.proxy import ProxyServer as ProxyServer

__all__ = ["ProxyServer"]


def __getattr__(name: str) -> Any:
    # The command's --help and --version must not wait for the server's imports.
    if name == "ProxyServer":
        from forge.proxy.proxy import ProxyServer

        return ProxyServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
