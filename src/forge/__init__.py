"""Forge: a reliability layer for self-hosted LLM tool calling."""

from forge._version import __version__

__all__ = ["__version__"]
