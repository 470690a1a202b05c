"""Whatever a caller of the Messages API sends is refused in words, or can be sent to every kind of backend."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.core.request import Request
from forge.errors import RequestError
from forge.wire import anthropic, ollama, openai
from forge.wire.anthropic import ThinkingMeans, as_openai, decode_request

_words = st.text(max_size=8)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=False) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)


def _made(kind: str | None = None, *, maybe: dict[str, Any] | None = None, **fields: Any) -> Any:
    needed = {**({"type": st.just(kind)} if kind else {}), **fields}
    return st.fixed_dictionaries(needed, optional=maybe or {})


_mark = {"cache_control": st.just({"type": "ephemeral"})}
_text = _made("text", text=_words, maybe=_mark)
_sources = st.one_of(
    _made("base64", media_type=st.sampled_from(["image/png", "application/pdf"]), data=st.just("AA==")),
    _made("url", url=st.just("https://x/y")),
    _made("text", media_type=st.just("text/plain"), data=_words),
    _made("content", content=_words | st.lists(_text, max_size=2)),
    _made("file", file_id=_words),
)
_image = _made("image", source=_sources)
_document = _made("document", source=_sources, maybe={"title": _words, "context": _words})
_blocks = st.one_of(
    _text,
    _image,
    _document,
    _made("tool_use", id=_words, name=_words, input=st.dictionaries(_words, _json, max_size=2)),
    _made(
        "tool_result",
        tool_use_id=_words,
        maybe={"content": _words | st.lists(_text | _image, max_size=2), "is_error": st.booleans(), **_mark},
    ),
    _made("thinking", thinking=_words, signature=_words),
    _made("redacted_thinking", data=_words),
    _made("search_result", source=_words, title=_words, content=st.lists(_text, max_size=2)),
    _made("server_tool_use", id=_words, name=_words, input=_json),
)
_messages = _made(
    role=st.sampled_from(["user", "assistant", "system"]), content=_words | st.lists(_blocks, max_size=3)
)
_tools = st.one_of(
    _made(
        name=st.sampled_from(["f", "g"]), input_schema=_made("object"), maybe={"description": _words, **_mark}
    ),
    _made("bash_20250124", name=st.just("bash")),
)
_valid = _made(
    messages=st.lists(_messages, max_size=4),
    maybe={
        "model": _words,
        "max_tokens": st.integers(1, 9),
        "system": _words | st.lists(_text, max_size=2),
        "tools": st.lists(_tools, max_size=2),
        "tool_choice": _made(type=st.sampled_from(["auto", "any", "none"])) | _made("tool", name=_words),
        "stream": st.booleans(),
        "stop_sequences": st.lists(_words),
        "metadata": _made(user_id=_words),
        "service_tier": st.sampled_from(["auto", "standard_only"]) | _json,
        "thinking": _made("enabled", budget_tokens=st.integers(1, 99)) | _made(type=_words),
        "output_config": _made(maybe={"effort": _words, "format": _made("json_schema", schema=_json)}),
        "output_format": _json,
        "chat_template_kwargs": _json,
        "n": _json,
    },
)


@st.composite
def _bodies(draw: st.DrawFn) -> Any:
    """A valid body, often with something else somewhere in it."""
    body = draw(_valid)
    if draw(st.booleans()):
        holder: Any = body
        for _ in range(draw(st.integers(0, 6))):
            inner = list(holder.values()) if isinstance(holder, dict) else holder
            deeper = [value for value in inner if isinstance(value, dict | list) and value]
            if not deeper:
                break
            holder = draw(st.sampled_from(deeper))
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if keys:
            holder[draw(st.sampled_from(keys))] = draw(_json)
    return body


def decoded(body: object) -> Request | None:
    try:
        return decode_request(json.dumps(body).encode())
    except RequestError:
        return None


@given(_bodies() | _json)
def test_a_body_is_refused_in_words_or_fits_its_own_protocol(body: object) -> None:
    request = decoded(body)
    if request is not None:
        sent = json.loads(anthropic.encode_request(request))
        assert isinstance(body, dict)
        # The caller's own messages, byte for byte what they were.
        assert sent["messages"] == json.loads(json.dumps(body["messages"]).encode("utf-8", "replace"))


@pytest.mark.parametrize("means", list(ThinkingMeans))
@given(_bodies())
def test_a_body_that_is_taken_can_be_sent_elsewhere(means: ThinkingMeans, body: object) -> None:
    request = decoded(body)
    if request is None:
        return
    converted = as_openai(request, means).request
    sent = json.loads(openai.encode_request(converted))
    assert all(isinstance(message["role"], str) for message in sent["messages"])
    assert {"system", "stop_sequences", "metadata", "thinking"}.isdisjoint(sent)
    with suppress(RequestError):  # images by URL
        json.loads(ollama.encode_request(converted))
