"""Requests of the Messages API in the terms of chat completions, for backends that speak something else.

Each message is rewritten by itself and always in the same way, so that a longer conversation only adds to a shorter
one. What has no counterpart is left out and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from forge.core.remembered import remembered
from forge.core.request import ChatMessage, Opaque, Part, Protocol, Reasoning, Request, Result, Text, Tool
from forge.wire.anthropic_ids import original_id
from forge.wire.anthropic_media import openai_parts
from forge.wire.anthropic_thinking import ThinkingMeans, thinking_fields, wish_of
from forge.wire.json_text import dumps, loads
from forge.wire.volatile_prefix import stable_system_prompt

_TIERS = {"auto": "auto", "standard_only": "default"}
_ONLY_THERE = frozenset({
    "cache_control", "container", "context_management", "mcp_servers", "inference_geo", "betas", "diagnostics", "speed",
    "user_profile_id", "workspace_id", "n",
})  # fmt: skip
"""Fields that steer Anthropic's own service, and those whose answer this API has no form for. Fields of nobody's (a
server's own ones) are carried as they came."""
_TOOL_FIELDS = frozenset({"type", "name", "description", "input_schema"})
_LONGEST_TOOL = 32 * 1024
"""Bytes of a tool of which it is kept what other protocols do not have of it."""
_CACHE_MARK = b'"cache_control"'


class Converted(Struct, frozen=True):
    """A request in OpenAI's terms, and the names of the kinds of fields that it lost."""

    request: Request
    unsupported: tuple[str, ...]


def as_openai(request: Request, means: ThinkingMeans) -> Converted:
    """``request`` for a backend that is told about thinking by ``means``."""
    lost: set[str] = set()
    options = _options(request.options, means, lost)
    messages = tuple(_message(message, lost) for message in request.messages)
    converted = msgspec.structs.replace(
        request,
        messages=messages,
        tools=_tools(request.tools, lost),
        options=options,
        protocol=Protocol.OPENAI,
    )
    return Converted(converted, tuple(sorted(lost)))


# -- options ------------------------------------------------------------------------------------------------


def _options(given: Mapping[str, Raw], means: ThinkingMeans, lost: set[str]) -> dict[str, Raw]:
    options: dict[str, Any] = {}
    for name, raw in given.items():
        if name in _ONLY_THERE:
            lost.add(name)
        elif name == "stop_sequences":
            options["stop"] = raw
        elif name == "metadata":
            _metadata(loads(bytes(raw)), options, lost)
        elif name == "service_tier":
            tier = loads(bytes(raw))
            options[name] = _TIERS.get(tier, tier) if isinstance(tier, str) else tier
        elif name in ("output_format", "output_config"):
            _output(name, loads(bytes(raw)), options, lost)
        elif name != "thinking":
            options[name] = raw
    _think(given, means, options, lost)
    return {name: value if isinstance(value, Raw) else Raw(dumps(value)) for name, value in options.items()}


def _metadata(metadata: Mapping[str, Any], options: dict[str, Any], lost: set[str]) -> None:
    if isinstance(metadata.get("user_id"), str):
        options["user"] = metadata["user_id"]
    lost.update(f"metadata.{name}" for name in metadata if name != "user_id")


def _output(name: str, config: Any, options: dict[str, Any], lost: set[str]) -> None:
    """A demanded form of the answer. The field had another name once, which held what is now its ``format``."""
    fields = config if isinstance(config, dict) else {}
    form = fields if name == "output_format" else fields.get("format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        schema = {"name": "answer", "schema": form.get("schema", {}), "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form is not None:
        lost.add(name if name == "output_format" else "output_config.format")
    if name == "output_config":
        lost.update(f"{name}.{other}" for other in fields if other not in ("format", "effort"))


def _think(given: Mapping[str, Raw], means: ThinkingMeans, options: dict[str, Any], lost: set[str]) -> None:
    thinking, config = (
        loads(bytes(given[name])) if name in given else None for name in ("thinking", "output_config")
    )
    fields, unsaid = thinking_fields(wish_of(thinking, config), means)
    lost.update(unsaid)
    for name, value in fields.items():
        own = options.get(name)
        if own is None:
            options[name] = value
        elif isinstance(value, dict):
            own = loads(bytes(own))
            # What a caller says in the backend's own terms counts.
            options[name] = {**value, **own} if isinstance(own, dict) else own


# -- messages -----------------------------------------------------------------------------------------------


def _message(message: ChatMessage, lost: set[str]) -> ChatMessage:
    if message.protocol is not Protocol.ANTHROPIC:
        return message
    if message.raw is not None and _CACHE_MARK in bytes(message.raw):
        lost.add("cache_control")
    parts = [read for part in message.parts for read in _parts(part, message.role, lost)]
    return ChatMessage(role=message.role, parts=_joined(parts), protocol=Protocol.OPENAI)


def _parts(part: Part, role: str, lost: set[str]) -> list[Part]:
    if isinstance(part, Text):
        text = stable_system_prompt(part.text) if role == "system" else part.text
        return [Text(text)] if text else []
    if isinstance(part, Reasoning):
        if part.redacted:
            lost.add("redacted_thinking")
        return [Reasoning(part.text)] if part.text else []
    if isinstance(part, Opaque):
        return openai_parts(part.raw, lost)
    if isinstance(part, Result) and part.is_error and not part.content.lower().startswith("error"):
        # Chat completions have no mark for it: the text has to say so.
        part = msgspec.structs.replace(part, content=f"Error: {part.content}")
    return [original_id(part)]


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """The texts of one message as one, where it has no media: most servers run them together without a gap."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    if len(texts) < 2 or any(isinstance(part, Opaque) for part in parts):
        return tuple(parts)
    first = next(i for i, part in enumerate(parts) if isinstance(part, Text))
    rest = [part for part in parts[first:] if not isinstance(part, Text)]
    return (*parts[:first], Text("\n".join(texts)), *rest)


# -- tools --------------------------------------------------------------------------------------------------


def _tools(tools: tuple[Tool, ...], lost: set[str]) -> tuple[Tool, ...]:
    for tool in tools:
        if tool.kind != "function":
            lost.add(f"tools of type {tool.kind}")
        elif tool.raw is not None:
            lost.update(_other_fields(bytes(tool.raw)))
    functions = tuple(tool for tool in tools if tool.kind == "function")
    return tools if len(functions) == len(tools) else functions


@remembered(maxsize=512, longest=_LONGEST_TOOL)
def _other_fields(raw: bytes) -> frozenset[str]:
    """The names of the fields of a tool that other protocols do not have."""
    given = (name for name, value in loads(raw).items() if value is not None and name not in _TOOL_FIELDS)
    return frozenset(name if name == "cache_control" else f"tools.{name}" for name in given)
