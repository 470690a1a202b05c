"""Recorded llama-server answers, replayed over a real socket in random pieces, read to the exact result.

``tests/fixtures/llama-server/`` holds the bytes as recorded (JSON re-indented): stock llama-server and the one in the
xllamacpp wheel, with a template of Hermes style, with a thinking one, and a model's own.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from servers.scripted import Script, ScriptedServer

from forge.clients.llamafile import LlamafileClient
from forge.core.events import CallDelta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.core.request import ChatMessage, Request, Text
from forge.errors import BackendError, MalformedOutputError, StreamError

pytestmark = pytest.mark.anyio

RECORDED = Path(__file__).parents[1] / "fixtures" / "llama-server"


@dataclass(frozen=True)
class Expected:
    """What an answer says. ``usage`` is prompt, completion and cached tokens; calls are (id, name, arguments)."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    reason: str = "stop"
    usage: tuple[int, int, int] | None = None


ANSWERS = [
    pytest.param(
        "qwen2.5-coder-1.5b/chat_plain.json",
        Expected(text="Hello!", usage=(35, 3, 26)),
        id="qwen2.5-coder-1.5b-chat_plain.json",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/chat_plain_stream.sse",
        Expected(text="Hello!", usage=(35, 3, 34)),
        id="qwen2.5-coder-1.5b-chat_plain_stream.sse",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/chat_plain_stream_nousage.sse",
        Expected(text="Hello!"),
        id="qwen2.5-coder-1.5b-chat_plain_stream_nousage.sse",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/tools_auto_stream.sse",
        Expected(
            text='```json\n{\n  "name": "get_weather",\n  "arguments": {\n    "city": "Paris",\n    "unit": "celsius"\n  }\n}\n```',
            usage=(341, 37, 340),
        ),
        id="qwen2.5-coder-1.5b-tools_auto_stream.sse",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/tools_stop_inside_call_stream.sse",
        Expected(text='```json\n{\n  "name": "get_weather",\n  "arguments": {\n    "city": "'),
        id="qwen2.5-coder-1.5b-tools_stop_inside_call_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_one_call.json",
        Expected(
            calls=[
                (
                    "diLaaaYFtURHdhSjbk9lMY6vV7iA6ebD",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "celsius"\n}',
                ),
                (
                    "VtKhRHjVViQHco6zkk6pbKJcksyWgdyI",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "fahrenheit"\n}',
                ),
            ],
            reason="length",
            usage=(228, 96, 227),
        ),
        id="hermes-native_one_call.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_one_call_stream.sse",
        Expected(
            calls=[
                (
                    "QB27Z739DLD8Umhv3qRzBEOCfzEgfosG",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "celsius"\n}',
                ),
                (
                    "PbdqIw1Z0uFljamOW4D5khFzGkySj84s",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "fahrenheit"\n}',
                ),
            ],
            reason="length",
            usage=(228, 96, 227),
        ),
        id="hermes-native_one_call_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_two_calls_prefill.json",
        Expected(
            calls=[
                ("37NcsoLAwo6V3NbVjDcRf6VsAhiuiTRU", "get_weather", '{"city": "Paris"}'),
                ("L0782Bboeo92fGoj2DQ1fjY7VMU4Szbu", "get_weather", '{"city": "Paris"}'),
            ],
            reason="tool_calls",
            usage=(399, 42, 384),
        ),
        id="hermes-native_two_calls_prefill.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_two_calls_prefill_stream.sse",
        Expected(
            calls=[
                ("yNd4ymrZCSjjgUk8LqXtvRmdziw2j7fG", "get_weather", '{"city": "Paris"}'),
                ("14VIYkeAvZBPlXJgXBl4uoJDto3hvPol", "get_weather", '{"city": "Paris"}'),
            ],
            reason="tool_calls",
            usage=(399, 42, 398),
        ),
        id="hermes-native_two_calls_prefill_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_stop_inside_call.json",
        Expected(
            calls=[("JgGGeuI80FvWXm3tQ6Xy07h9CPjSWxiV", "get_weather", '{\n"city": "')],
            reason="tool_calls",
            usage=(228, 28, 143),
        ),
        id="hermes-native_stop_inside_call.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_stop_inside_call_stream.sse",
        Expected(
            calls=[("pYPrOdjZ8PRUv3G1r1DZBIGgMnY1omPI", "get_weather", '{\n"city": "')],
            reason="tool_calls",
            usage=(228, 28, 227),
        ),
        id="hermes-native_stop_inside_call_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/native_truncated_in_arguments_stream.sse",
        Expected(
            calls=[("H6CkMJB6t44KVoV1FLk9ehZZjocnqtNq", "get_weather", "{")],
            reason="length",
            usage=(228, 20, 227),
        ),
        id="hermes-native_truncated_in_arguments_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/n_probs.json",
        Expected(text="Paris, France", reason="length", usage=(33, 3, 32)),
        id="hermes-n_probs.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/timings_per_token.sse",
        Expected(text="Paris, France,", reason="length", usage=(33, 4, 32)),
        id="hermes-timings_per_token.sse",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning.json",
        Expected(
            text="Paris is a city known for its art, food,",
            reasoning="Paris, France, right now, is forecasted to be a beautiful, \n",
            usage=(33, 43, 0),
        ),
        id="thinking-reasoning.json",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning_stream.sse",
        Expected(
            text="Paris is a city known for its art, food,",
            reasoning="Paris, France, right now, is forecasted to be a beautiful, \n",
            usage=(33, 43, 32),
        ),
        id="thinking-reasoning_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning_cut_in_thinking.json",
        Expected(reasoning="Paris,", reason="length", usage=(33, 8, 32)),
        id="thinking-reasoning_cut_in_thinking.json",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning_cut_in_thinking_stream.sse",
        Expected(reasoning="Paris,", reason="length", usage=(33, 8, 32)),
        id="thinking-reasoning_cut_in_thinking_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning_then_call.json",
        Expected(
            text="<think>\nI should call the weather tool for Paris.\n</think>\n\n",
            calls=[
                (
                    "BRlxw6R3iAHSjKrqJU2pSX8qM1iREIT8",
                    "get_weather",
                    '{\n    "city": "Paris",\n    "unit": "celsius"\n  }',
                )
            ],
            reason="tool_calls",
            usage=(191, 43, 13),
        ),
        id="thinking-reasoning_then_call.json",
    ),
    pytest.param(
        "smollm2-135m-thinking-template/reasoning_then_call_stream.sse",
        Expected(
            text="<think>\nI should call the weather tool for Paris.\n</think>\n\n",
            calls=[
                (
                    "c9V9Lt0xcAHoJN5qSsopUpyCu99wgXV5",
                    "get_weather",
                    '{\n    "city": "Paris",\n    "unit": "celsius"\n  }',
                )
            ],
            reason="tool_calls",
            usage=(191, 43, 190),
        ),
        id="thinking-reasoning_then_call_stream.sse",
    ),
    pytest.param(
        "xllamacpp-smollm2-hermes-template/native_one_call_stream.sse",
        Expected(
            calls=[
                (
                    "59Tn9893zdulhg5KInd3XSzxc1WWYcqS",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "celsius"\n}',
                ),
                (
                    "Votdd7S1o3uw5byC1ZGrf5EiENYEoCue",
                    "get_weather",
                    '{\n"city": "Paris",\n"unit": "fahrenheit"\n}',
                ),
            ],
            reason="length",
            usage=(228, 96, 227),
        ),
        id="xllamacpp-smollm2-hermes-native_one_call_stream.sse",
    ),
]

ERRORS = [
    pytest.param(
        "qwen2.5-coder-1.5b/err_context_overflow_stream.json",
        400,
        BackendError,
        400,
        "request (9030 tokens) exceeds the available context size (40",
        "",
        id="qwen2.5-coder-1.5b-err_context_overflow_stream.json",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/err_assistant_bad_arguments.json",
        500,
        BackendError,
        500,
        "Failed to parse tool call arguments as JSON: [json.exception",
        "",
        id="qwen2.5-coder-1.5b-err_assistant_bad_arguments.json",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/err_tool_schema_bad_ref.json",
        400,
        BackendError,
        400,
        "Unable to generate parser for this template. Automatic parse",
        "",
        id="qwen2.5-coder-1.5b-err_tool_schema_bad_ref.json",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/grammar_with_tools.json",
        400,
        BackendError,
        400,
        "Cannot use custom grammar constraints with tools.",
        "",
        id="qwen2.5-coder-1.5b-grammar_with_tools.json",
    ),
    pytest.param(
        "qwen2.5-coder-1.5b/err_method.json",
        404,
        BackendError,
        404,
        "File Not Found",
        "",
        id="qwen2.5-coder-1.5b-err_method.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/err_malformed_output_500.json",
        500,
        MalformedOutputError,
        500,
        "The model produced output that does not match the expected p",
        "",
        id="hermes-err_malformed_output_500.json",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/err_malformed_output_500_stream.sse",
        200,
        MalformedOutputError,
        500,
        "The model produced output that does not match the expected p",
        "",
        id="hermes-err_malformed_output_500_stream.sse",
    ),
    pytest.param(
        "smollm2-135m-hermes-template/err_malformed_output_500_mid_stream.sse",
        200,
        MalformedOutputError,
        500,
        "The model produced output that does not match the expected p",
        '{"city": "Paris"}',
        id="hermes-err_malformed_output_500_mid_stream.sse",
    ),
    pytest.param(
        "xllamacpp-smollm2-hermes-template/err_malformed_output_500_mid_stream.sse",
        200,
        MalformedOutputError,
        500,
        "The model produced output that does not match the expected p",
        'Paris"}',
        id="xllamacpp-smollm2-hermes-err_malformed_output_500_mid_stream.sse",
    ),
]


def replay(name, status=200, *, seed=0, upto=None):
    """The recorded answer as a script of random pieces."""
    data = (RECORDED / name).read_bytes()[:upto]
    kind = "text/event-stream" if name.endswith(".sse") else "application/json; charset=utf-8"
    pieces, choose = [], random.Random(seed)
    while data:
        size = choose.choice((1, 2, 7, 40, 300))
        pieces.append(data[:size])
        data = data[size:]
    return Script(pieces, status, {"Content-Type": kind})


def ask(*, stream):
    return Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), stream=stream)


async def run(script, *, stream, deltas=None):
    deltas = [] if deltas is None else deltas
    async with ScriptedServer([script]) as server:
        client = LlamafileClient("model.gguf", f"{server.url}/v1")
        try:
            async for delta in client.exchange(ask(stream=stream)):
                deltas.append(delta)
        finally:
            await client.aclose()
    return deltas


def read(deltas):
    calls = {}
    for delta in deltas:
        if isinstance(delta, CallDelta):
            call = calls.setdefault(delta.index, ["", "", ""])
            call[0] += delta.id or ""
            call[1] += delta.name or ""
            call[2] += delta.arguments
    usage = [d for d in deltas if isinstance(d, Usage)]
    return Expected(
        text="".join(d.text for d in deltas if isinstance(d, TextDelta)),
        reasoning="".join(d.text for d in deltas if isinstance(d, ReasoningDelta)),
        calls=[tuple(call) for _, call in sorted(calls.items())],
        reason=deltas[-1].reason,
        usage=(usage[0].prompt_tokens, usage[0].completion_tokens, usage[0].cached_tokens) if usage else None,
    )


@pytest.mark.parametrize(("name", "expected"), ANSWERS)
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_recorded_answer_is_read_exactly(name, expected, seed):
    deltas = await run(replay(name, seed=seed), stream=name.endswith(".sse"))

    assert read(deltas) == expected
    assert isinstance(deltas[0], Started)
    assert deltas[0].extra == {"system_fingerprint": "b0-unknown"}
    assert [d for d in deltas if isinstance(d, Finish)] == [deltas[-1]]


@pytest.mark.parametrize(("name", "status", "kind", "code", "message", "arguments"), ERRORS)
async def test_a_recorded_error_is_a_typed_one(name, status, kind, code, message, arguments):
    deltas = []
    with pytest.raises(BackendError) as caught:
        await run(replay(name, status), stream=True, deltas=deltas)

    assert type(caught.value) is kind
    assert caught.value.status_code == code
    assert message in str(caught.value)
    assert "".join(d.arguments for d in deltas if isinstance(d, CallDelta)) == arguments


STREAMS = [param for param in ANSWERS if str(param.values[0]).endswith(".sse")]


@pytest.mark.parametrize(("name", "expected"), STREAMS)
async def test_a_cut_stream_is_an_error_wherever_it_is_cut(name, expected):
    whole = (RECORDED / name).read_bytes()
    finished = whole.index(b'"finish_reason":"')
    for upto in random.Random(3).sample(range(finished), 8):
        with pytest.raises(StreamError):
            await run(replay(name, upto=upto), stream=True)


@pytest.mark.parametrize(("name", "expected"), STREAMS)
async def test_done_need_not_come(name, expected):
    whole = (RECORDED / name).read_bytes()

    deltas = await run(replay(name, upto=whole.index(b"data: [DONE]")), stream=True)

    assert read(deltas) == expected


async def test_a_whole_answer_keeps_its_body():
    name = "qwen2.5-coder-1.5b/chat_plain.json"

    deltas = await run(replay(name), stream=False)

    assert deltas[-1].body == (RECORDED / name).read_bytes()


async def test_what_has_no_neutral_name_survives():
    logprobs = await run(replay("smollm2-135m-hermes-template/n_probs.json"), stream=False)
    timings = await run(replay("smollm2-135m-hermes-template/timings_per_token.sse"), stream=True)

    texts = [d for d in logprobs if isinstance(d, TextDelta)]
    assert len(texts[0].extra["logprobs"]["content"]) == 3
    assert {"timings", "prompt_progress"} <= set(timings[-1].extra)
