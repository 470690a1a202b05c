import asyncio
from types import SimpleNamespace

import pytest

from forge.clients.base import (
    ChunkType,
    LLMClient,
    StreamChunk,
    TokenUsage,
    _capture_usage,
    decode_tool_args,
    flatten_content_to_text,
    format_tool,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("raw", "args"),
    [
        (None, {}),
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", [1]),
        ("{oops", "{oops"),
        ("[" * 100_000, "[" * 100_000),
        (7, 7),
    ],
)
def test_decode_tool_args(raw, args):
    assert decode_tool_args(raw) == args


def test_an_object_of_arguments_is_the_same_object():
    args = {"a": 1}
    assert decode_tool_args(args) is args


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("a", "a"),
        ([{"type": "text", "text": "a"}, "b", {"type": "image_url"}, {"type": "text", "text": None}], "a\nb"),
        ([], ""),
        (5, "5"),
    ],
)
def test_flatten_content_to_text(content, text):
    assert flatten_content_to_text(content) == text


def test_format_tool():
    spec = SimpleNamespace(name="f", description="d", get_json_schema=lambda: {"type": "object"})

    assert format_tool(spec) == {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
    }


def test_the_innermost_capture_gets_the_usage():
    with _capture_usage() as outer:
        with _capture_usage() as inner:
            TokenUsage(1, 2, 3)
        assert (outer.usage, inner.usage) == (None, TokenUsage(1, 2, 3))


def test_usage_outside_a_capture_is_only_a_value():
    assert TokenUsage(1, 2, 3).cache_read_input_tokens == 0


async def test_captures_of_tasks_do_not_mix():
    both = asyncio.Barrier(2)

    async def one(tokens):
        with _capture_usage() as capture:
            await both.wait()
            TokenUsage(tokens, 0, tokens)
            await both.wait()
            return capture.usage.prompt_tokens

    assert await asyncio.gather(one(1), one(2)) == [1, 2]


def test_chunks_are_values():
    assert StreamChunk(ChunkType.TEXT_DELTA, "a") == StreamChunk(ChunkType("text_delta"), "a")
    assert [kind.value for kind in ChunkType] == ["text_delta", "tool_call_delta", "final", "retry"]


def test_the_protocol_is_checked_by_shape():
    assert not isinstance(object(), LLMClient)
