"""What is read by its type is what the general reader makes of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from forge.wire.json_text import dumps
from forge.wire.openai import ChunkDecoder, decode_response
from forge.wire.openai_usual import read_usual

FIXTURES = Path(__file__).parents[1] / "fixtures"
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "hi"},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}


def answer(message=None, choice=None, **fields):
    first = {**ANSWER["choices"][0], **(choice or {})}
    if message is not None:
        first["message"] = {"role": "assistant", **message}
    return {**ANSWER, "choices": [first], **fields}


def general(body):
    """The answer as the reader of chunks understands it."""
    decoder = ChunkDecoder()
    deltas = decoder.feed_object(json.loads(body))
    decoder.done = True
    *deltas, finish = [*deltas, *decoder.end()]
    return [*deltas, structs.replace(finish, body=body if decoder.says_why else None)]


@pytest.mark.parametrize(
    "given_",
    [
        pytest.param(ANSWER, id="text"),
        pytest.param(answer({"content": ""}), id="nothing"),
        pytest.param(answer({"content": None, "tool_calls": [CALL]}), id="call"),
        pytest.param(
            answer({"content": "x", "tool_calls": [CALL, {**CALL, "id": "b"}]}), id="two calls and a text"
        ),
        pytest.param(answer(usage=None, created=0, id=None), id="little said"),
        pytest.param(answer(system_fingerprint="b1", timings={"prompt_n": 3}), id="llama-server"),
        pytest.param(
            answer({"content": "x", "refusal": None, "reasoning_content": None}, prompt_logprobs=None),
            id="vLLM",
        ),
        pytest.param(
            answer(
                usage={
                    "prompt_tokens": 9,
                    "completion_tokens": 3,
                    "total_tokens": 12,
                    "prompt_tokens_details": {"cached_tokens": 7},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                }
            ),
            id="usage in detail",
        ),
    ],
)
def test_a_usual_answer(given_):
    body = dumps(given_)

    assert read_usual(body) is not None
    assert decode_response(body) == general(body)


@pytest.mark.parametrize(
    "given_",
    [
        pytest.param(answer({"content": "x", "reasoning_content": "thought"}), id="thinking"),
        pytest.param(answer({"content": "x", "refusal": "no"}), id="refusal"),
        pytest.param(answer(choice={"finish_reason": None}), id="no reason"),
        pytest.param(answer(choice={"finish_reason": ""}), id="empty reason"),
        pytest.param(answer(choice={"logprobs": {"content": []}}), id="logprobs"),
        pytest.param(answer(anything="else"), id="unknown field"),
        pytest.param(answer(usage={"prompt_tokens": None, "total_tokens": 9}), id="odd usage"),
        pytest.param(
            answer(usage={"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 20}), id="another total"
        ),
        pytest.param(answer({"tool_calls": [CALL, CALL]}), id="one id twice"),
        pytest.param(answer({"tool_calls": [{**CALL, "index": 1}]}), id="index"),
        pytest.param(answer({"tool_calls": [{**CALL, "id": ""}]}), id="no id"),
        pytest.param(
            answer({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": {"a": 1}}}]}),
            id="decoded arguments",
        ),
        pytest.param(
            answer({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": ""}}]}), id="no arguments"
        ),
        pytest.param({**ANSWER, "choices": ANSWER["choices"] * 2}, id="two choices"),
    ],
)
def test_an_unusual_one_is_left_to_the_general_reader(given_):
    body = dumps(given_)

    assert read_usual(body) is None
    assert decode_response(body) == general(body)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"choices":[]}', b'{"error":{"message":"x"}}', b"\xff", b"[" * 10_000]
)
def test_what_is_wrong_is_left_to_it_too(body):
    assert read_usual(body) is None


RECORDED = [path for path in sorted(FIXTURES.rglob("*.json")) if b'"chat.completion"' in path.read_bytes()]


@pytest.mark.parametrize("server", ["llama-server", "vllm", "ollama"])
def test_recorded_answers(server):
    bodies = [path.read_bytes() for path in RECORDED if server in path.parts]
    usual = [body for body in bodies if read_usual(body) is not None]

    assert len(usual) > len(bodies) / 2
    assert [decode_response(body) for body in usual] == [general(body) for body in usual]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.just([CALL]),
)
FIELDS = st.sampled_from([*ANSWER, "system_fingerprint", "service_tier", "timings", "x"])


@given(
    top=st.dictionaries(FIELDS, VALUES, max_size=2),
    choice=st.dictionaries(st.sampled_from(["index", "finish_reason", "logprobs", "y"]), VALUES, max_size=2),
    message=st.dictionaries(
        st.sampled_from(["role", "content", "tool_calls", "refusal", "z"]), VALUES, max_size=3
    ),
)
def test_whatever_it_reads_it_reads_right(top, choice, message):
    body = dumps({**answer(message, choice), **top})

    if read_usual(body) is not None:
        assert decode_response(body) == general(body)
