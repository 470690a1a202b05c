"""Whether a server cut a prompt without saying so: its count of tokens against an estimate. Pure."""

from __future__ import annotations

from forge.context.estimate import BYTES_PER_TOKEN, estimate_tool_tokens, text_size
from forge.core.request import Call, Request, Result, Text

_SMALL = 512
"""Tokens. Below this the template's own words weigh too much, and nothing is cut anyway."""
_FACTOR = 1.6
_FACTOR_BLIND = 2.5
"""By how much an estimate must exceed the count: estimates are good to 1.5. More where the context is not known."""


def estimate_prompt(request: Request) -> int:
    """Estimated tokens of ``request``'s prompt. Thinking of earlier turns is not counted: templates leave it out."""
    size = 0
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text):
                size += text_size(part.text)
            elif isinstance(part, Result):
                size += text_size(part.content)
            elif isinstance(part, Call):
                size += text_size(part.name) + text_size(part.arguments)
    return size // BYTES_PER_TOKEN + estimate_tool_tokens(request.tools)


def seems_cut(estimated: int, counted: int, context_length: int | None) -> bool:
    """Whether a prompt of about ``estimated`` tokens, of which the server counted ``counted``, must have been cut."""
    if counted <= 0 or estimated < _SMALL:
        return False
    if context_length is None:
        return estimated > counted * _FACTOR_BLIND
    return estimated > context_length and estimated > counted * _FACTOR
