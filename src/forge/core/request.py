"""The neutral request: what every door decodes into and every client encodes from.

A message that came from a caller keeps the caller's own bytes (``raw``) together with the protocol they are
in, so that a client of the same protocol can forward them untouched; the decoded ``parts`` serve everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Raw, Struct


class Protocol(StrEnum):
    """Wire protocols that messages and tools can be written in."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"


class Text(Struct, frozen=True, tag="text"):
    """Visible text."""

    text: str


class Reasoning(Struct, frozen=True, tag="reasoning"):
    """Thinking that the model wrote before its answer. ``field`` is the wire name it came under.

    Anthropic signs each block of thinking, and takes one back only as it was, with its ``signature``; a block that
    it does not show at all has no text, but ``redacted``, which only Anthropic can read.
    """

    text: str
    field: str = "reasoning_content"
    signature: str = ""
    redacted: str = ""


class Call(Struct, frozen=True, tag="call"):
    """An earlier tool call. ``arguments`` is JSON text exactly as it was sent (it may be broken)."""

    id: str
    name: str
    arguments: str


class Result(Struct, frozen=True, tag="result"):
    """The result of an earlier tool call, flattened to text."""

    call_id: str
    content: str
    name: str = ""
    is_error: bool = False


class Opaque(Struct, frozen=True, tag="opaque"):
    """A content part that Forge does not interpret (an image, say), in the bytes of its message's protocol."""

    raw: Raw


Part: TypeAlias = Text | Reasoning | Call | Result | Opaque


class ChatMessage(Struct, frozen=True, kw_only=True):
    """One message. ``role`` is system, developer, user, assistant or tool (unknown roles pass as they came).

    ``raw`` is the message in the caller's own bytes, ``protocol`` the protocol of those bytes; both are None
    for messages that Forge made itself.
    """

    role: str
    parts: tuple[Part, ...] = ()
    raw: Raw | None = None
    protocol: Protocol | None = None


class Tool(Struct, frozen=True, kw_only=True):
    """One offered tool. ``parameters`` is its JSON Schema (an object schema; ``{}`` when it was not given).

    ``raw`` and ``protocol`` are as in :class:`ChatMessage`. A tool of another kind than ``function``
    (``web_search``, ``custom``) only passes through: ``kind`` names it and it is never guarded.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    kind: str = "function"
    raw: Raw | None = None
    protocol: Protocol | None = None


def written_bytes(tools: Iterable[Any]) -> int:
    """How many bytes those of some objects were written in that are a caller's tools."""
    return sum(len(tool.raw) for tool in tools if isinstance(tool, Tool) and tool.raw is not None)


class ToolChoice(Struct, frozen=True):
    """``mode`` is auto, none, required or named; ``name`` is set for named only."""

    mode: str
    name: str | None = None


class Constraint(Struct, frozen=True, kw_only=True):
    """Asks a backend to make anything but a call of one of ``tools`` impossible.

    The model then writes one JSON object ``{"name": <tool>, "arguments": {...}}``. The client chooses the
    backend's own means (response_format, json_schema, grammar, ``format``) and lowers the schemas to what
    the backend's compiler understands.

    ``longest_text``: characters that a text may have where its schema allows more; None leaves that to the client.
    """

    tools: tuple[Tool, ...]
    longest_text: int | None = None


class Request(Struct, frozen=True, kw_only=True):
    """One model turn to be run.

    ``options`` holds every other field of the caller's body, undecoded, in the caller's order (sampling, max_tokens,
    stop, vendor keys), under the names that ``protocol`` has for them. ``tool_choice`` None means that the caller did
    not say. ``functions``: the tools were offered in the form from before there were tools, and are to be called in it.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    model: str | None = None
    stream: bool = False
    options: dict[str, Raw] = {}
    protocol: Protocol = Protocol.OPENAI
    constraint: Constraint | None = None
    functions: bool = False
