"""Tools that come with Forge, and the decorator that makes one from a function."""

from forge.tools.decorator import tool
from forge.tools.respond import RESPOND_TOOL_NAME, respond_spec, respond_tool

__all__ = ["RESPOND_TOOL_NAME", "respond_spec", "respond_tool", "tool"]
