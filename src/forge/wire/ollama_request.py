"""Requests for Ollama's ``/api/chat``, built from the neutral form.

Each message is rewritten by itself, and messages come last but for the constraint, so that a longer conversation
only adds to a shorter one. ``tool_choice`` has no counterpart there: a caller's "none" takes the tools away, what
else it says must be seen to by whoever sends the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw

from forge.core.request import Call, ChatMessage, Opaque, Reasoning, Request, Result, Text
from forge.errors import RequestError
from forge.wire.arguments import object_arguments
from forge.wire.json_text import dumps, loads, says_something
from forge.wire.media import read_media
from forge.wire.openai import encode_tool

_OPTIONS = {
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
    **{
        name: name
        for name in (
            "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "repeat_penalty", "repeat_last_n",
            "presence_penalty", "frequency_penalty", "num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu",
            "main_gpu", "num_thread", "use_mmap", "draft_num_predict",
        )
    },
}  # fmt: skip
"""The fields of a request that Ollama takes inside ``options``, with their names there."""
_NOT_SENT = frozenset({
    "messages", "tools", "tool_choice", "model", "stream", "options", "think", "reasoning_effort", "response_format",
    "format", "stream_options", "parallel_tool_calls", "n", "user", "store", "metadata", "logit_bias",
    "chat_template_kwargs", "cache_prompt", "id_slot", "functions", "function_call",
})  # fmt: skip
"""Fields that are read here, or that mean nothing to Ollama. All others go out as they came."""
_NOTHING_FOR = (
    "user", "metadata", "logit_bias", "chat_template_kwargs", "functions", "function_call", "service_tier", "verbosity", "safety_identifier", "prompt_cache_key", "modalities", "audio", "prediction",
    "web_search_options",
)  # fmt: skip
"""Those of all of them that would change an answer, or that a caller may count on."""
_EFFORTS: Mapping[str, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
}
"""OpenAI's efforts as values of ``think``. Levels are known to few models (gpt-oss)."""


def encode_request(
    request: Request,
    *,
    options: Mapping[str, Any] | None = None,
    think: bool | str | None = None,
    form: Mapping[str, Any] | None = None,
) -> bytes:
    """The body of ``request``.

    Args:
        request: ``constraint``, ``tool_choice`` (but for "none") and what its options say about thinking are not read.
        options: Ollama's options for which the request has none of its own.
        think: whether, or how much, to think; None leaves it to the server.
        form: the JSON Schema of a constrained answer.

    Raises:
        RequestError: a message holds a content part that Ollama has no form for.
    """
    given = {name: loads(bytes(raw)) for name, raw in request.options.items()}
    given = {name: value for name, value in given.items() if value is not None}
    fields: dict[str, Any] = {"model": request.model}
    fields.update({name: v for name, v in given.items() if name not in _NOT_SENT and name not in _OPTIONS})
    fields["stream"] = request.stream
    if think is not None:
        fields["think"] = think
    chosen = {**(options or {}), **_options(given)}
    if chosen:
        fields["options"] = chosen
    tools = [tool for tool in request.tools if tool.kind == "function"]
    if tools and not (request.tool_choice is not None and request.tool_choice.mode == "none"):
        fields["tools"] = [Raw(encode_tool(tool)) for tool in tools]
    fields["messages"] = _messages(request.messages)
    fixed = form if form is not None else _format(given)
    if fixed is not None:
        fields["format"] = fixed
    return dumps(fields)


def unsupported(request: Request) -> tuple[str, ...]:
    """What of a request Ollama has nothing for: fields, and the types of tools that are no functions; sorted."""
    lost = {name for name in _NOTHING_FOR if says_something(request.options.get(name))}
    if bytes(request.options.get("n", Raw(b"1"))) != b"1":
        lost.add("n")
    lost |= {f"tools of type {tool.kind}" for tool in request.tools if tool.kind != "function"}
    return tuple(sorted(lost))


def thinking(request: Request) -> bool | str | None:
    """What a request says about thinking in Ollama's own field; None where it says nothing."""
    value = _option(request, "think")
    return value if isinstance(value, bool | str) else None


def effort(request: Request) -> bool | str | None:
    """What a request says about it in OpenAI's field, ``reasoning_effort``, as a value of Ollama's."""
    value = _option(request, "reasoning_effort")
    return _EFFORTS.get(value) if isinstance(value, str) else None


def _option(request: Request, name: str) -> Any:
    return loads(bytes(request.options[name])) if name in request.options else None


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    named = {_OPTIONS[name]: value for name, value in given.items() if name in _OPTIONS}
    own = given.get("options")
    return {**named, **own} if isinstance(own, dict) else named


def _format(given: Mapping[str, Any]) -> Any:
    if "format" in given:
        return given["format"]
    wanted = given.get("response_format")
    if not isinstance(wanted, dict):
        return None
    kind = wanted.get("type")
    if kind == "json_schema":
        holder = wanted.get("json_schema")
        return holder.get("schema") if isinstance(holder, dict) else None
    return "json" if kind == "json_object" else None


def _messages(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    encoded: list[dict[str, Any]] = []
    for message in messages:
        names.update({part.id: part.name for part in message.parts if isinstance(part, Call)})
        results = [part for part in message.parts if isinstance(part, Result)]
        encoded.extend(_result(result, names) for result in results)
        if len(results) < len(message.parts) or not message.parts:
            encoded.append(_message(message))
    return encoded


def _result(result: Result, names: Mapping[str, str]) -> dict[str, Any]:
    fields = {"role": "tool", "content": result.content}
    name = result.name or names.get(result.call_id, "")
    if name:
        fields["tool_name"] = name
    if result.call_id:
        fields["tool_call_id"] = result.call_id
    return fields


def _message(message: ChatMessage) -> dict[str, Any]:
    parts = message.parts
    role = "system" if message.role == "developer" else message.role
    # Results of a tool's message went out already; what is left beside them (an image, say) is the user's.
    fields: dict[str, Any] = {"role": "user" if role == "tool" else role}
    fields["content"] = "".join(part.text for part in parts if isinstance(part, Text))
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    if thought:
        fields["thinking"] = thought
    images = [_image(part, message) for part in parts if isinstance(part, Opaque)]
    if images:
        fields["images"] = images
    calls = [_call(part) for part in parts if isinstance(part, Call)]
    if calls:
        fields["tool_calls"] = calls
    return fields


def _call(call: Call) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": call.id} if call.id else {}
    fields["function"] = {"name": call.name, "arguments": Raw(object_arguments(call.arguments))}
    return fields


def _image(part: Opaque, message: ChatMessage) -> str:
    media = read_media(part, message)
    if not media.data or not media.type.startswith("image/"):
        raise RequestError("Ollama takes images only as data: URLs in base64", "messages")
    return media.data
