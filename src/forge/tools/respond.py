"""A tool with which a model answers the user, so that an answer is a call like any other."""

from __future__ import annotations

from pydantic import BaseModel, Field

from forge.core.workflow import ToolDef, ToolSpec
from forge.engine.respond import RESPOND_TOOL_NAME

__all__ = ["RESPOND_DESCRIPTION", "RESPOND_TOOL_NAME", "RespondParams", "respond_spec", "respond_tool"]

RESPOND_DESCRIPTION = (
    "Send a message to the user. Use this for everything that you want to tell them: the final answer, a question, "
    "or why something cannot be done. Prefer the other tools while there is still work to do."
)


class RespondParams(BaseModel):
    """Arguments of the respond tool."""

    message: str = Field(description="The complete message, as the user should read it")


def respond_spec() -> ToolSpec:
    """The spec of the respond tool: one required string, ``message``."""
    return ToolSpec(name=RESPOND_TOOL_NAME, description=RESPOND_DESCRIPTION, parameters=RespondParams)


def respond_tool() -> ToolDef:
    """The respond tool; it returns its message. Usually a workflow's terminal tool."""
    return ToolDef(spec=respond_spec(), callable=_respond)


def _respond(message: str) -> str:
    return message
