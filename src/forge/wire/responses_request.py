"""Requests of OpenAI's Responses API, decoded into the neutral form that every backend is asked in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from forge.core.request import Request
from forge.errors import RequestError
from forge.wire.fields import read_field
from forge.wire.json_text import dumps, loads
from forge.wire.openai_request import top_level_fields
from forge.wire.responses_input import Conversation
from forge.wire.responses_tools import Label, choose, read_tools

ENCRYPTED_REASONING = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"

_CARRIED = (
    "temperature", "top_p", "parallel_tool_calls", "user", "safety_identifier", "service_tier", "prompt_cache_key",
    "prompt_cache_retention",
)  # fmt: skip
"""Fields that mean the same in a chat. Fields that neither API knows are carried too: they are the backend's own."""
_READ_HERE = frozenset({
    *_CARRIED, "model", "stream", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "text",
    "reasoning", "top_logprobs", "include", "metadata", "store", "previous_response_id", "stream_options",
})  # fmt: skip
_NOT_HERE = frozenset({
    "max_tool_calls", "context_management", "moderation", "access_programs", "prompt_cache_options",
    "background_options", "image", "client_metadata",
})  # fmt: skip
"""Fields that steer OpenAI's own service."""
_REFUSED = {
    "background": "responses are not run in the background here: ask for a stream instead",
    "conversation": "conversations are not stored here: send the items in 'input', or 'previous_response_id'",
    "prompt": "prompts are not stored here: send the text in 'instructions' and 'input'",
}
_NUMBER, _TEXT, _COUNT = int | float | None, str | None, int | None
_TYPES: Mapping[str, Any] = {
    "temperature": _NUMBER, "top_p": _NUMBER, "parallel_tool_calls": bool | None, "user": _TEXT,
    "safety_identifier": _TEXT, "service_tier": _TEXT, "prompt_cache_key": _TEXT, "prompt_cache_retention": _TEXT,
    "model": _TEXT, "stream": bool | None, "input": str | list[Raw] | None, "instructions": _TEXT,
    "max_output_tokens": _COUNT, "text": dict[str, Any] | None, "reasoning": dict[str, Any] | None,
    "top_logprobs": _COUNT, "include": list[str] | None, "metadata": dict[str, Any] | None, "store": bool | None,
    "previous_response_id": _TEXT, "truncation": _TEXT, "background": bool | None,
}  # fmt: skip
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decoders = {name: msgspec.json.Decoder(type_).decode for name, type_ in _TYPES.items()}


class Stored(Protocol):
    """Where earlier responses are kept."""

    def conversation(self, response_id: str) -> Sequence[Raw]:
        """All items of the conversation up to and with that response.

        Raises:
            ForgeError: it is not stored.
        """

    def item(self, item_id: str) -> Raw | None:
        """An item of a stored response."""


class ResponsesRequest(Request, frozen=True, kw_only=True):
    """A request with what its answer repeats or depends on.

    ``given``: the fields that the answer's object repeats. ``items``: the input, without what came before it.
    ``labels``: what functions are called by the caller, where that differs. ``left_out``: what no backend is told.
    """

    given: Mapping[str, Any] = {}
    items: tuple[Raw, ...] = ()
    labels: Mapping[str, Label] = {}
    left_out: tuple[str, ...] = ()
    store: bool = True
    previous: str | None = None
    shows_summary: bool = False
    seals_reasoning: bool = False


def decode_request(body: bytes, stored: Stored) -> ResponsesRequest:
    """The neutral form of a Responses body; the conversation that it goes on from is taken from ``stored``.

    Raises:
        RequestError: what is wrong, with the path of the field in ``param``.
    """
    fields = top_level_fields(body)
    given = {name: read_field(_decoders[name], fields[name], name) for name in _TYPES if name in fields}
    given = {name: value for name, value in given.items() if value is not None}
    for name, reason in _REFUSED.items():
        if name in fields and bytes(fields[name]) not in (b"null", b"false"):
            raise RequestError(f"'{name}': {reason}", name)
    if given.get("max_output_tokens", 1) < 1:
        raise RequestError("'max_output_tokens' must be at least 1", "max_output_tokens")
    items, earlier = _items(given, stored)
    conversation = Conversation(given.get("instructions"))
    conversation.add(earlier, -len(earlier))
    conversation.add(items)
    offer = read_tools(_tools(_bytes(fields, "tools", b"[]"), conversation.tools))
    choice = fields.get("tool_choice", Raw(b"null"))
    tools, chosen = choose(b'"auto"' if bytes(choice) == b"null" else bytes(choice), offer)
    include = given.get("include", [])
    reasoning = given.get("reasoning", {})
    return ResponsesRequest(
        messages=conversation.messages(),
        tools=tools,
        tool_choice=chosen if bytes(choice) != b"null" else None,
        model=given.get("model"),
        stream=given.get("stream", False),
        options=_options(fields, given),
        given=_repeated(fields, given),
        items=tuple(item.copy() for item in items),
        labels=offer.labels,
        left_out=(*offer.left_out, *conversation.left_out, *_left_out(fields, given)),
        store=given.get("store", True),
        previous=given.get("previous_response_id"),
        shows_summary=(reasoning.get("summary") or reasoning.get("generate_summary")) is not None,
        seals_reasoning=ENCRYPTED_REASONING in include,
    )


def _tools(given: bytes, additional: Sequence[Raw]) -> bytes:
    """The array of all tools; one that is none is left to be refused."""
    if not additional or not given.startswith(b"["):
        return given
    return dumps([*_decode_list(given), *additional])


def _bytes(fields: Mapping[str, Raw], name: str, default: bytes) -> bytes:
    data = bytes(fields.get(name, default))
    return default if data == b"null" else data


# -- input --------------------------------------------------------------------------------------------------


def _items(given: Mapping[str, Any], stored: Stored) -> tuple[list[Raw], Sequence[Raw]]:
    """The items of the request, and those of the conversation before it."""
    previous = given.get("previous_response_id")
    earlier = stored.conversation(previous) if previous is not None else ()
    written = given.get("input")
    if written is None:
        if previous is None:
            raise RequestError("'input' is missing: give a text or a list of items", "input")
        return [], earlier
    if isinstance(written, str):
        text = {"type": "input_text", "text": written}
        return [Raw(dumps({"type": "message", "role": "user", "content": [text]}))], earlier
    return [_resolved(raw, f"input[{i}]", stored) for i, raw in enumerate(written)], earlier


def _resolved(raw: Raw, param: str, stored: Stored) -> Raw:
    """The item itself, or the stored one that it refers to."""
    data = bytes(raw)
    if b'"item_reference"' not in data and b'"type"' in data:
        return raw
    try:
        fields = loads(data)
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
        return raw
    if fields.get("type") == "item_reference" or fields.keys() == {"id"}:
        found = stored.item(fields["id"])
        if found is None:
            raise RequestError(
                f"'{param}' refers to an item with id {fields['id']!r}, which is not stored: send the item itself",
                f"{param}.id",
            )
        return found
    return raw


# -- everything else ----------------------------------------------------------------------------------------


def _options(fields: Mapping[str, Raw], given: Mapping[str, Any]) -> dict[str, Raw]:
    """Under their names in a chat, what the backend is told besides messages and tools; in the caller's order."""
    options: dict[str, Raw] = {}
    for name, raw in fields.items():
        if name == "max_output_tokens" and name in given:
            options["max_tokens"] = raw
        elif name == "text":
            options.update(_text_options(given.get("text", {})))
        elif name == "reasoning" and given.get("reasoning", {}).get("effort") is not None:
            options["reasoning_effort"] = Raw(dumps(given["reasoning"]["effort"]))
        elif name in _CARRIED or not _is_ours(name):
            options[name] = raw
    if given.get("top_logprobs") or LOGPROBS in given.get("include", ()):
        options["logprobs"] = Raw(b"true")
        if "top_logprobs" in given:
            options["top_logprobs"] = fields["top_logprobs"]
    return options


def _is_ours(name: str) -> bool:
    return name in _READ_HERE or name in _NOT_HERE or name in _REFUSED or name == "truncation"


def _text_options(text: Mapping[str, Any]) -> dict[str, Raw]:
    options: dict[str, Raw] = {}
    if text.get("verbosity") is not None:
        options["verbosity"] = Raw(dumps(text["verbosity"]))
    form = text.get("format")
    if form is None:
        return options
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "json_schema":
        if not isinstance(form.get("schema"), dict):
            raise RequestError("'text.format.schema' must be an object", "text.format.schema")
        schema = {name: value for name, value in form.items() if name != "type" and value is not None}
        schema.setdefault("name", "answer")
        options["response_format"] = Raw(dumps({"type": kind, "json_schema": schema}))
    elif kind == "json_object":
        options["response_format"] = Raw(dumps({"type": kind}))
    elif kind != "text":
        raise RequestError("'text.format.type' must be text, json_schema or json_object", "text.format.type")
    return options


def _left_out(fields: Mapping[str, Raw], given: Mapping[str, Any]) -> list[str]:
    names = [f"'{name}'" for name in fields if name in _NOT_HERE and bytes(fields[name]) != b"null"]
    if given.get("truncation") == "auto":
        names.append("'truncation'")
    includes = given.get("include", ())
    return names + [f"include {name!r}" for name in includes if name not in (ENCRYPTED_REASONING, LOGPROBS)]


def _repeated(fields: Mapping[str, Raw], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a response's object has from its request."""
    text = given.get("text", {})
    reasoning = given.get("reasoning", {})
    return {
        "background": False,
        "instructions": given.get("instructions"),
        "max_output_tokens": given.get("max_output_tokens"),
        "max_tool_calls": None,
        "metadata": given.get("metadata", {}),
        "parallel_tool_calls": given.get("parallel_tool_calls", True),
        "previous_response_id": given.get("previous_response_id"),
        "prompt_cache_key": given.get("prompt_cache_key"),
        "reasoning": {"effort": None, "summary": None, **reasoning},
        "safety_identifier": given.get("safety_identifier"),
        "service_tier": given.get("service_tier", "default"),
        "store": given.get("store", True),
        "temperature": given.get("temperature"),
        "text": {**text, "format": text.get("format") or {"type": "text"}},
        "tool_choice": Raw(_bytes(fields, "tool_choice", b'"auto"')).copy(),
        "tools": Raw(_bytes(fields, "tools", b"[]")).copy(),
        "top_logprobs": given.get("top_logprobs", 0),
        "top_p": given.get("top_p"),
        "truncation": given.get("truncation", "disabled"),
        "user": given.get("user"),
    }
