"""The proxy: HTTP doors in front of the engine.

``python -m forge.proxy`` is the command, :class:`ProxyServer` the same inside another program, and
:func:`create_app` an ASGI application, to be mounted in another service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.proxy.mounted import create_app as create_app
    from forge.proxy.proxy import ProxyServer as ProxyServer

__all__ = ["ProxyServer", "create_app"]


def __getattr__(name: str) -> Any:
    # The command's --help and --version must not wait for the server's imports.
    if name == "ProxyServer":
        from forge.proxy.proxy import ProxyServer

        return ProxyServer
    if name == "create_app":
        from forge.proxy.mounted import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
