"""What a model is told: the tools it has, and what was wrong with its answer."""

from forge.prompts.nudges import retry_nudge, step_nudge
from forge.prompts.templates import extract_tool_call, rescue_tool_call
from forge.prompts.tool_prompt import build_tool_prompt

__all__ = ["build_tool_prompt", "extract_tool_call", "rescue_tool_call", "retry_nudge", "step_nudge"]
