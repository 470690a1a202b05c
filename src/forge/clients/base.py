"""The public contract of model clients: what users' code and their test doubles are written against."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

from forge.core.calls import LLMResponse
from forge.schema.spec import as_tool

RawOpenAITools: TypeAlias = list[dict[str, Any]]
"""Tool objects as a caller of the OpenAI API wrote them."""
RawOpenAIMessages: TypeAlias = list[dict[str, Any]]
"""Messages as a caller of the OpenAI API wrote them."""


class ChunkType(StrEnum):
    """What a :class:`StreamChunk` brings."""

    TEXT_DELTA = "text_delta"
    TOOL_CALL_DELTA = "tool_call_delta"
    FINAL = "final"
    RETRY = "retry"


@dataclass(frozen=True)
class StreamChunk:
    """One step of a streamed answer. ``response`` is set on the last one only, whose type is FINAL."""

    type: ChunkType
    content: str = ""
    response: LLMResponse | None = None


class UsageCapture:
    """Holds the last :class:`TokenUsage` made inside :func:`_capture_usage` (None: there was none)."""

    def __init__(self) -> None:
        self.usage: TokenUsage | None = None


_capture: ContextVar[UsageCapture | None] = ContextVar("forge_usage_capture", default=None)


@contextmanager
def _capture_usage() -> Iterator[UsageCapture]:
    """Learn the token usage of exactly the calls made inside, however many run at the same time elsewhere."""
    capture = UsageCapture()
    token = _capture.set(capture)
    try:
        yield capture
    finally:
        _capture.reset(token)


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one backend call. Making one publishes it to the innermost :func:`_capture_usage`."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __post_init__(self) -> None:
        """Publish."""
        capture = _capture.get()
        if capture is not None:
            capture.usage = self


@runtime_checkable
class LLMClient(Protocol):
    """A model client as runner and inference use it. Clients never retry because of what the model wrote."""

    api_format: str
    model: str | None

    async def send(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        sampling: dict[str, Any] | None = None,
        passthrough: dict[str, Any] | None = None,
        inbound_anthropic_body: dict[str, Any] | None = None,
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> LLMResponse:
        """The whole answer: calls, or text."""
        ...

    def send_stream(  # noqa: PLR0913, PLR0917 - the public contract
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        sampling: dict[str, Any] | None = None,
        passthrough: dict[str, Any] | None = None,
        inbound_anthropic_body: dict[str, Any] | None = None,
        raw_openai_tools: RawOpenAITools | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[StreamChunk]:
        """The answer in chunks; the last is FINAL and holds it whole."""
        ...

    async def get_context_length(self) -> int | None:
        """Tokens that one request may have, or None where the server does not say."""
        ...

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        ...


def format_tool(spec: Any) -> dict[str, Any]:
    """A tool spec as the object that the OpenAI API takes."""
    tool = as_tool(spec)
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def flatten_content_to_text(content: Any) -> str:
    """Message content as text: text parts and bare strings joined by newlines, other parts dropped."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return str(content)
    texts = [
        part.get("text") if isinstance(part, Mapping) and part.get("type", "text") == "text" else part
        for part in content
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def decode_tool_args(raw: Any) -> Any:
    """Arguments as a backend gave them: JSON text decoded, no text an empty object, anything else untouched.

    Text that is no JSON comes back as it is: whoever judges the call must see what the model wrote.
    """
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw
