"""Requests for Anthropic's Messages API, built from the neutral form.

What came in this protocol goes out as the caller's bytes: a message's ``raw`` is a message of this API, a system
message's ``raw`` is a value of its ``system`` field, a tool's ``raw`` is a tool. Everything else is rewritten so
that a longer conversation only adds to a shorter one; messages come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from forge.core.request import Protocol, Request, Tool, ToolChoice
from forge.wire.anthropic_messages import encode_messages, split_system, system_blocks
from forge.wire.json_text import dumps, loads, says_something
from forge.wire.signed_thinking import default_thinking, lost_its_thoughts, thinks, without_sampling

CONTROL_KEYS = frozenset({"extra_headers", "extra_body", "extra_query", "timeout"})
"""Keys by which SDKs are told things that are no part of a body."""
_READ_HERE = frozenset({
    "max_tokens", "max_completion_tokens", "stop", "stop_sequences", "temperature", "metadata", "user",
    "safety_identifier", "parallel_tool_calls", "thinking", "service_tier",
})  # fmt: skip
_NOT_THERE = CONTROL_KEYS | {
    "messages", "tools", "tool_choice", "model", "stream", "system", "frequency_penalty", "presence_penalty",
    "repeat_penalty", "min_p", "logit_bias", "logprobs", "top_logprobs", "n", "seed", "response_format", "store",
    "stream_options", "functions", "function_call", "modalities", "prediction", "audio", "reasoning_effort", "verbosity",
    "litellm_session_id", "chat_template_kwargs", "cache_prompt", "id_slot", "prompt_cache_key", "prompt_cache_retention",
    "web_search_options", "think", "keep_alive",
}  # fmt: skip
"""Fields of other protocols that this API refuses a request for."""
_HARMLESS = CONTROL_KEYS | {
    "stream_options",
    "cache_prompt",
    "id_slot",
    "store",
    "litellm_session_id",
    "system",
}
"""Those of them that change nothing of the answer."""
_SINGLE = "parallel_tool_calls"
_OWN_TIERS = ("auto", "standard_only")
_CACHED = {"type": "ephemeral"}


class Defaults(Struct, frozen=True, kw_only=True):
    """What a client adds where the request says nothing. ``thinking`` is the API's own object."""

    max_tokens: int = 4096
    thinking: Mapping[str, Any] | None = None
    tool_choice: Mapping[str, Any] | None = None
    prompt_caching: bool = False


class VerbatimRequest(Request, frozen=True, kw_only=True):
    """A request whose body exists already, in this API's own form: it is sent as it is."""

    body: Mapping[str, Any]


def encode_request(request: Request, defaults: Defaults | None = None, *, model: str | None = None) -> bytes:
    """The body of ``request``.

    Args:
        request: ``constraint`` becomes a forced call of its tools.
        defaults: what the client adds.
        model: the model to send instead of the request's own.

    Raises:
        RequestError: a message holds a content part that this API has no form for.
    """
    defaults = defaults or Defaults()
    model = model or request.model
    if isinstance(request, VerbatimRequest):
        return _verbatim(request, model)
    given = {name: loads(bytes(raw)) for name, raw in request.options.items()}
    given = {name: value for name, value in given.items() if value is not None}
    own = request.protocol is Protocol.ANTHROPIC
    fields: dict[str, Any] = {"model": model}
    fields.update(_own_options(request.options, defaults) if own else _options(given, defaults))
    system, messages = split_system(request.messages)
    cached = defaults.prompt_caching
    if system:
        fields["system"] = (
            _with_breakpoint(system_blocks(system)) if cached else _plain(system_blocks(system))
        )
    if request.tools:
        tools = [encode_tool(tool) for tool in request.tools]
        fields["tools"] = _with_breakpoint(tools) if cached else tools
        choice = _tool_choice(request, given, defaults)
        if choice is not None:
            fields["tool_choice"] = choice
    if request.stream:
        fields["stream"] = True
    turns = encode_messages(messages)
    if lost_its_thoughts(fields.get("thinking"), turns):
        del fields["thinking"]
    fields["messages"] = turns
    return dumps(fields)


def _verbatim(request: VerbatimRequest, model: str | None) -> bytes:
    fields = {n: value for n, value in request.body.items() if n not in CONTROL_KEYS and n != "stream"}
    if model is not None:
        fields["model"] = model
    if request.stream:
        fields["stream"] = True
    return dumps(fields)


def _own_options(given: Mapping[str, Raw], defaults: Defaults) -> dict[str, Any]:
    """The options of a caller of this API, in the caller's bytes."""
    fields: dict[str, Any] = {"max_tokens": defaults.max_tokens}
    if defaults.thinking is not None:
        fields["thinking"] = defaults.thinking
    fields.update({n: raw for n, raw in given.items() if n not in CONTROL_KEYS and n != _SINGLE})
    return fields


def _options(given: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    limit = given.get("max_completion_tokens", given.get("max_tokens"))
    fields: dict[str, Any] = {"max_tokens": defaults.max_tokens if limit is None else limit}
    stop = given.get("stop_sequences", given.get("stop"))
    stops = [stop] if isinstance(stop, str) else stop
    if isinstance(stops, list):
        # The API refuses sequences without a visible character.
        stops = [text for text in stops if not isinstance(text, str) or text.strip()]
    if stops:
        fields["stop_sequences"] = stops
    temperature = given.get("temperature")
    if temperature is not None:
        # OpenAI's scale ends at 2, this one at 1.
        fields["temperature"] = min(temperature, 1) if isinstance(temperature, int | float) else temperature
    metadata = given.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    user = user or given.get("safety_identifier") or given.get("user")
    if user is not None:
        fields["metadata"] = {"user_id": user}
    if given.get("service_tier") in _OWN_TIERS:
        fields["service_tier"] = given["service_tier"]
    thinking = given.get("thinking", default_thinking(defaults.thinking, fields["max_tokens"]))
    if thinking is not None:
        fields["thinking"] = thinking
    fields.update({n: v for n, v in given.items() if n not in _READ_HERE and n not in _NOT_THERE})
    return without_sampling(fields) if "thinking" not in given and thinks(thinking) else fields


def unsupported(request: Request) -> tuple[str, ...]:
    """The fields of a request of another protocol that this API has nothing for, sorted."""
    if request.protocol is Protocol.ANTHROPIC:
        return ()
    lost = {
        n
        for n, raw in request.options.items()
        if n in _NOT_THERE and n not in _HARMLESS and says_something(raw)
    }
    if bytes(request.options.get("n", Raw(b"1"))) == b"1":
        lost.discard("n")
    tier = loads(bytes(request.options.get("service_tier", Raw(b"null"))))
    if tier is not None and tier not in _OWN_TIERS:
        lost.add("service_tier")
    return tuple(sorted(lost))


def _tool_choice(request: Request, given: Mapping[str, Any], defaults: Defaults) -> Mapping[str, Any] | None:
    choice: dict[str, Any] | None = None
    if request.constraint is not None:
        offered = request.constraint.tools
        choice = {"type": "tool", "name": offered[0].name} if len(offered) == 1 else {"type": "any"}
    elif request.tool_choice is not None:
        choice = _converted(request.tool_choice)
    elif defaults.tool_choice is not None:
        choice = dict(defaults.tool_choice)
    if (
        thinks(given.get("thinking", defaults.thinking))
        and choice is not None
        and choice.get("type") in ("any", "tool")
    ):
        # The API refuses to think and to be forced at the same time.
        choice = {"type": "auto"}
    if given.get(_SINGLE) is False:
        choice = choice or {"type": "auto"}
        if choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
    return choice


def _converted(choice: ToolChoice) -> dict[str, Any]:
    if choice.mode == "named":
        return {"type": "tool", "name": choice.name}
    return {"type": "any" if choice.mode == "required" else choice.mode}


def encode_tool(tool: Tool) -> Any:
    """One tool: the caller's bytes where they are in this protocol, else built from the neutral form."""
    if tool.raw is not None and (tool.protocol is Protocol.ANTHROPIC or tool.kind != "function"):
        return tool.raw
    # A root without a type is refused.
    schema = {**tool.parameters, "type": "object"}
    fields = {"name": tool.name, "description": tool.description, "input_schema": schema}
    return fields if tool.description else {"name": tool.name, "input_schema": schema}


def _plain(blocks: list[Any]) -> Any:
    """A single plain text as a string, as most callers write it."""
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}:
        return blocks[0]["text"]
    return blocks


def _with_breakpoint(entries: list[Any]) -> list[Any]:
    """The entries with a mark at the last one, up to which the prompt is cached."""
    last = entries[-1]
    if isinstance(last, Raw):
        last = loads(bytes(last))
    if not isinstance(last, dict) or "cache_control" in last:
        return entries
    return [*entries[:-1], {**last, "cache_control": _CACHED}]
