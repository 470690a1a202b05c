"""What the public client contract (``send``, ``send_stream``) needs over a backend's one way to run a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forge.clients.base import (
    ChunkType,
    RawOpenAITools,
    StreamChunk,
    TokenUsage,
    decode_tool_args,
    format_tool,
)
from forge.core.calls import CallSource, LLMResponse, TextResponse, ToolCall
from forge.core.events import CallDelta, Delta, ReasoningDelta, TextDelta, Usage
from forge.core.request import Request, Tool
from forge.dialects.scanner import parse_tool_calls
from forge.wire.json_text import dumps
from forge.wire.openai import decode_request

_OWNED = frozenset({"messages", "tools", "stream", "stream_options", "system"})


def build_request(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Any] | None,
    options: Sequence[Mapping[str, Any] | None],
    raw_openai_tools: RawOpenAITools | None,
    *,
    stream: bool,
) -> Request:
    """The request for OpenAI-shaped ``messages``. Of ``options`` later ones win and null values count as unset.

    Raises:
        RequestError: a message or tool is malformed.
    """
    body: dict[str, Any] = {}
    for fields in options:
        body.update({k: v for k, v in (fields or {}).items() if k not in _OWNED and v is not None})
    offered = (
        raw_openai_tools if raw_openai_tools is not None else [format_tool(tool) for tool in tools or ()]
    )
    if offered:
        body["tools"] = offered
    body["stream"] = stream
    body["messages"] = list(messages)
    return decode_request(dumps(body))


class ResponseCollector:
    """Deltas of one turn, collected into the contract's response."""

    def __init__(self, tools: Sequence[Tool], *, native: bool, think: bool) -> None:
        self._tools = tools
        self._native = native
        self._think = think
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, ToolCall] = {}
        self._arguments: dict[int, list[str]] = {}
        self.usage: Usage | None = None
        self.rescued = 0
        """Calls that were read out of the text."""

    def add(self, delta: Delta) -> StreamChunk | None:
        """Take a delta; return the chunk that shows it, if it is one to show."""
        if isinstance(delta, TextDelta):
            self._text.append(delta.text)
            return StreamChunk(ChunkType.TEXT_DELTA, delta.text) if delta.text else None
        if isinstance(delta, ReasoningDelta):
            self._reasoning.append(delta.text)
        elif isinstance(delta, CallDelta):
            call = self._calls.setdefault(delta.index, ToolCall("", {}, source=CallSource("native")))
            call.tool += delta.name or ""
            call.id = call.id or delta.id
            self._arguments.setdefault(delta.index, []).append(delta.arguments)
            return StreamChunk(ChunkType.TOOL_CALL_DELTA, delta.arguments)
        elif isinstance(delta, Usage):
            self.usage = delta
        return None

    def response(self) -> LLMResponse:
        """Calls if there are any, else text without think blocks."""
        reply = parse_tool_calls("".join(self._text), () if self._native else self._tools)
        calls = [self._calls[index] for index in sorted(self._calls)]
        for index, call in zip(sorted(self._calls), calls, strict=True):
            call.args = decode_tool_args("".join(self._arguments[index]))
        if not calls:
            calls = reply.calls
            self.rescued = len(calls)
        if not calls:
            return TextResponse(reply.text.strip() if reply.reasoning else reply.text)
        if self._think:
            thought = "".join(self._reasoning) or reply.reasoning or reply.text
            calls[0].reasoning = thought.strip() or None
        return calls


def token_usage(usage: Usage) -> TokenUsage:
    """The contract's usage; making it publishes it.

    OpenAI's prompt tokens include those that came from the cache, so none are counted again beside them.
    """
    return TokenUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
    )
