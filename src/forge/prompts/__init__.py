"""What a model is told: the tools it has, and what was wrong with its answer."""

from forge.prompts.nudges import retry_nudge, step_nudge
from forge.prompts.tool_prompt import build_tool_prompt

__all__ = ["build_tool_prompt", "retry_nudge", "step_nudge"]
