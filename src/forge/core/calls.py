"""What a model turn yields: tool calls or text. Plain values, compared by value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import Struct

from forge.core.ledger import Fix


class CallSource(Struct, frozen=True):
    """Where a call was found in a reply and what had to be mended to read it.

    ``span`` is a half-open range of character offsets in the reply's text; ``(-1, -1)`` for a call that the
    backend delivered already structured.
    """

    notation: str
    span: tuple[int, int] = (-1, -1)
    fixes: tuple[Fix, ...] = ()


@dataclass
class ToolCall:
    """One call of one tool. ``args`` is whatever the model gave; only an object can be executed.

    ``id`` (the backend's or caller's call id) and ``source`` take no part in equality: two calls are the same
    when they would do the same.
    """

    tool: str
    args: Any
    reasoning: str | None = None
    id: str | None = field(default=None, compare=False, repr=False)
    source: CallSource | None = field(default=None, compare=False, repr=False)


@dataclass
class TextResponse:
    """A model turn that is plain text."""

    content: str


LLMResponse: TypeAlias = list[ToolCall] | TextResponse
