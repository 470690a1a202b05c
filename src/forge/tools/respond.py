"""A tool with which a model answers the user, so that an answer is a call like any other."""

from __future__ import annotations

from forge.core.workflow import ToolDef, ToolSpec
from forge.engine.respond import RESPOND_DESCRIPTION, RESPOND_TOOL, RESPOND_TOOL_NAME

__all__ = ["RESPOND_DESCRIPTION", "RESPOND_TOOL_NAME", "respond_spec", "respond_tool"]


def respond_spec() -> ToolSpec:
    """The spec of the respond tool: one required string, ``message``."""
    return ToolSpec.from_json_schema(RESPOND_TOOL_NAME, RESPOND_DESCRIPTION, RESPOND_TOOL.parameters)


def respond_tool() -> ToolDef:
    """The respond tool; it returns its message. Usually a workflow's terminal tool."""
    return ToolDef(spec=respond_spec(), callable=_respond)


def _respond(message: str) -> str:
    return message
