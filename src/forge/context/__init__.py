"""How full a conversation's context is, and what to do about it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from forge.context.manager import CompactEvent, ContextManager, default_context_warning
from forge.context.observations import ContextSession, ContextUsage
from forge.context.strategies import CompactStrategy, NoCompact, SlidingWindowCompact, TieredCompact

if TYPE_CHECKING:
    from forge.context.hardware import HardwareProfile, detect_hardware

__all__ = [
    "CompactEvent",
    "CompactStrategy",
    "ContextManager",
    "ContextSession",
    "ContextUsage",
    "HardwareProfile",
    "NoCompact",
    "SlidingWindowCompact",
    "TieredCompact",
    "default_context_warning",
    "detect_hardware",
]


def __getattr__(name: str) -> Any:
    # hardware starts processes and reads the system; everything else here is pure.
    if name in ("HardwareProfile", "detect_hardware"):
        return getattr(import_module("forge.context.hardware"), name)
    raise AttributeError(f"module 'forge.context' has no attribute {name!r}")
