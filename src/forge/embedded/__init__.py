"""The embedded default: a prebuilt llama.cpp server and a small model, fetched on demand.

``python -m forge.embedded install`` fetches the model; ``async with await forge.embedded.start() as server``
serves it at ``server.base_url``. The server itself is the ``embedded`` extra of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.embedded.launch import EmbeddedServer as EmbeddedServer
    from forge.embedded.launch import start as start

__all__ = ["EmbeddedServer", "start"]


def __getattr__(name: str) -> Any:
    # The server process imports this package too, and must not wait for the launcher's imports.
    if name in __all__:
        from forge.embedded import launch

        return getattr(launch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
