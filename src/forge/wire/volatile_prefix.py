"""What a client puts at the very front of its prompt and changes from one request to the next.

A prompt cache keeps what two prompts share from their beginning: one changing line there costs the whole cache.
"""

from __future__ import annotations

import re

_BILLING_HEADER = re.compile(r"\A(?:x-anthropic-billing-header:[^\n]*(?:\n+|\Z))+")


def stable_system_prompt(text: str) -> str:
    """``text`` without the billing line that Claude Code opens its system prompt with.

    The line is for Anthropic's accounting, says nothing to a model, and holds a number that changes between
    conversations and requests.
    """
    return _BILLING_HEADER.sub("", text) if text.startswith("x-anthropic-billing-header:") else text
