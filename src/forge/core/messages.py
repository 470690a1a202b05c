"""The messages of a conversation, as a workflow keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forge.core.results import serialise_result


class MessageRole(str, Enum):  # noqa: UP042 - str() gives "MessageRole.USER", as callers know it
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageType(str, Enum):  # noqa: UP042 - likewise
    """What a message is for; compaction and display go by this. Exactly these eleven values."""

    SYSTEM_PROMPT = "system_prompt"
    USER_INPUT = "user_input"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    REASONING = "reasoning"
    TEXT_RESPONSE = "text_response"
    STEP_NUDGE = "step_nudge"
    PREREQUISITE_NUDGE = "prerequisite_nudge"
    RETRY_NUDGE = "retry_nudge"
    CONTEXT_WARNING = "context_warning"
    SUMMARY = "summary"


@dataclass(frozen=True)
class MessageMeta:
    """What Forge knows about a message beyond its text. Never sent to a model.

    ``step_index`` counts turns and never falls within a conversation. ``original_type`` is the type a message
    had before compaction rewrote it, ``token_estimate`` its size in tokens where that was worked out.
    """

    type: MessageType
    step_index: int | None = None
    original_type: MessageType | None = None
    token_estimate: int | None = None


@dataclass(frozen=True)
class ToolCallInfo:
    """One call inside an assistant message; ``call_id`` is what its result refers to."""

    name: str
    args: dict[str, Any]
    call_id: str


@dataclass
class Message:
    """One message. ``tool_calls`` belongs to an assistant's calls, ``tool_name`` and ``tool_call_id`` to a result."""

    role: MessageRole
    content: str
    metadata: MessageMeta
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[ToolCallInfo] | None = None

    def to_api_dict(self, format: str = "ollama") -> dict[str, Any]:  # noqa: A002 - a name of the public contract
        """The message as a model server wants it.

        Args:
            format: ``"openai"`` gives call ids and arguments as JSON text; anything else gives Ollama's shape,
                with arguments as an object and no ids.
        """
        openai = format == "openai"
        wire: dict[str, Any] = {"role": self.role.value, "content": self.content}
        if self.tool_calls is not None:
            wire["tool_calls"] = [_openai_call(c) if openai else _ollama_call(c) for c in self.tool_calls]
        elif self.tool_name is not None:
            wire["name" if openai else "tool_name"] = self.tool_name
            if openai and self.tool_call_id is not None:
                wire["tool_call_id"] = self.tool_call_id
        return wire


def _openai_call(call: ToolCallInfo) -> dict[str, Any]:
    # Text stays as the model wrote it: \uXXXX escapes cost several tokens for each character.
    try:
        arguments = json.dumps(call.args or {}, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        arguments = serialise_result(
            call.args
        )  # a client of the caller's own made values that JSON does not know
    return {
        "function": {"name": call.name, "arguments": arguments},
        "type": "function",
        "id": call.call_id,
    }


def _ollama_call(call: ToolCallInfo) -> dict[str, Any]:
    return {"function": {"name": call.name, "arguments": call.args or {}}}
