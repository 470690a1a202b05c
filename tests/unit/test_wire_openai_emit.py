import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.core.events import CallReady, Finish, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.wire.openai import (
    DONE_EVENT,
    AnswerBuilder,
    ChunkDecoder,
    ChunkEncoder,
    Identity,
    decode_response,
    encode_error,
    encode_error_event,
)
from forge.wire.sse import SSEDecoder

IDENTITY = Identity(id="x", model="m", created=1, extra={"system_fingerprint": "fp"})
CALL = CallReady(id="c1", name="f", arguments='{"a":1}')
USAGE = Usage(
    prompt_tokens=3, completion_tokens=2, cached_tokens=1, extra={"completion_tokens_details": {"r": 1}}
)


def finished(reason="stop", usage=None, **extra):
    return Finished(reason=reason, usage=usage, attempts=(), extra=extra)


def events(data):
    return [json.loads(event.data) for event in SSEDecoder().feed(data)]


def test_a_signature_has_no_place_here():
    builder = AnswerBuilder()
    for delta in (ReasoningDelta("", redacted="x"), ReasoningDelta("", signature="s")):
        assert ChunkEncoder(IDENTITY).reasoning(delta) == b""
        builder.add(delta)

    (choice,) = json.loads(builder.encode(IDENTITY, finished()))["choices"]
    assert "reasoning_content" not in choice["message"]


def one(data):
    (event,) = events(data)
    return event


def test_every_chunk_carries_the_envelope():
    encoder = ChunkEncoder(IDENTITY)
    chunks = [
        encoder.role(),
        encoder.text(TextDelta("a")),
        encoder.text(TextDelta("a", {"logprobs": {}})),
        encoder.reasoning(ReasoningDelta("a")),
        encoder.call(0, CALL),
        encoder.finish(finished()),
        encoder.finish(finished(timings={"a": 1})),
        encoder.usage(finished()),
    ]

    for chunk in chunks:
        got = one(chunk)
        assert (got["id"], got["model"], got["created"]) == ("x", "m", 1)
        assert (got["object"], got["system_fingerprint"]) == ("chat.completion.chunk", "fp")


@pytest.mark.parametrize(
    ("chunk", "choice"),
    [
        pytest.param(
            lambda e: e.role(),
            {"delta": {"role": "assistant", "content": ""}, "finish_reason": None},
            id="role",
        ),
        pytest.param(
            lambda e: e.text(TextDelta('a"\n')),
            {"delta": {"content": 'a"\n'}, "finish_reason": None},
            id="text",
        ),
        pytest.param(
            lambda e: e.text(TextDelta("a", {"logprobs": {"content": []}})),
            {"delta": {"content": "a"}, "logprobs": {"content": []}, "finish_reason": None},
            id="logprobs",
        ),
        pytest.param(
            lambda e: e.text(TextDelta("", {"delta": {"refusal": "no"}})),
            {"delta": {"refusal": "no"}, "finish_reason": None},
            id="refusal",
        ),
        pytest.param(
            lambda e: e.reasoning(ReasoningDelta("r", "reasoning")),
            {"delta": {"reasoning": "r"}, "finish_reason": None},
            id="reasoning",
        ),
        pytest.param(
            lambda e: e.reasoning(ReasoningDelta("r", "thoughts")),
            {"delta": {"thoughts": "r"}, "finish_reason": None},
            id="reasoning under an unusual name",
        ),
        pytest.param(
            lambda e: e.call(1, CALL),
            {
                "delta": {
                    "tool_calls": [
                        {
                            "index": 1,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "f", "arguments": '{"a":1}'},
                        }
                    ]
                },
                "finish_reason": None,
            },
            id="call",
        ),
        pytest.param(
            lambda e: e.finish(finished("length", choice={"stop_reason": 7})),
            {"delta": {}, "finish_reason": "length", "stop_reason": 7},
            id="finish",
        ),
    ],
)
def test_the_choice_of_each_chunk(chunk, choice):
    assert one(chunk(ChunkEncoder(IDENTITY)))["choices"] == [{"index": 0, **choice}]


def test_fields_of_the_answer_come_at_its_end():
    encoder = ChunkEncoder(IDENTITY)

    assert one(encoder.finish(finished(timings={"a": 1})))["timings"] == {"a": 1}
    last = one(encoder.usage(finished(usage=USAGE, timings={"a": 1})))
    assert (last["choices"], last["timings"]) == ([], {"a": 1})
    assert last["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "completion_tokens_details": {"r": 1},
        "prompt_tokens_details": {"cached_tokens": 1},
    }


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)


@given(st.lists(st.builds(TextDelta, TEXTS) | st.builds(ReasoningDelta, TEXTS)))
def test_a_stream_reads_back_as_it_was_written(deltas):
    encoder = ChunkEncoder(IDENTITY)
    data = encoder.role()
    for delta in deltas:
        data += encoder.text(delta) if isinstance(delta, TextDelta) else encoder.reasoning(delta)
    data += encoder.call(0, CALL) + encoder.finish(finished("tool_calls")) + DONE_EVENT

    decoder = ChunkDecoder()
    back = [d for event in SSEDecoder().feed(data) for d in decoder.feed(event.data)] + decoder.end()

    for kind in (TextDelta, ReasoningDelta):
        whole = "".join(d.text for d in deltas if isinstance(d, kind))
        read = "".join(d.text for d in back if isinstance(d, kind))
        assert len(read) == len(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    assert back[-1] == Finish(reason="tool_calls")


def whole(*outputs, end=None):
    builder = AnswerBuilder()
    for output in outputs:
        builder.add(output)
    return json.loads(builder.encode(IDENTITY, end or finished()))


def test_a_whole_answer():
    got = whole(
        ReasoningDelta("wh"),
        ReasoningDelta("y"),
        TextDelta("a", {"logprobs": {"content": [1]}}),
        TextDelta("b", {"logprobs": {"content": [2]}, "delta": {"refusal": "n"}}),
        TextDelta("", {"delta": {"refusal": "o"}}),
        end=finished("length", USAGE, timings={"t": 1}, choice={"stop_reason": 7}),
    )

    assert got["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "ab", "reasoning_content": "why", "refusal": "no"},
            "logprobs": {"content": [1, 2]},
            "stop_reason": 7,
            "finish_reason": "length",
        }
    ]
    assert (got["id"], got["object"], got["timings"]) == ("x", "chat.completion", {"t": 1})
    assert got["usage"]["total_tokens"] == 5


def test_content_is_null_only_beside_calls():
    assert whole(CALL)["choices"][0]["message"]["content"] is None
    assert whole(TextDelta("a"), CALL)["choices"][0]["message"]["content"] == "a"
    assert whole()["choices"][0]["message"]["content"] == ""


def test_a_whole_answer_reads_back():
    builder = AnswerBuilder()
    for output in (ReasoningDelta("r"), TextDelta("a"), CALL):
        builder.add(output)

    deltas = decode_response(builder.encode(IDENTITY, finished("tool_calls", USAGE)))

    assert TextDelta("a") in deltas
    assert ReasoningDelta("r") in deltas
    assert deltas[-1].reason == "tool_calls"


def test_the_backends_identity_wins_where_it_has_one():
    theirs = Started(id="theirs", model=None, created=None, extra={"system_fingerprint": "fp"})

    identity = Identity.of(theirs, id="ours", model="m", created=1)

    assert identity == Identity(id="theirs", model="m", created=1, extra={"system_fingerprint": "fp"})
    assert Identity.of(None, id="ours", model="m", created=1).id == "ours"


def test_errors_have_the_shape_that_sdks_parse():
    body = encode_error("no", kind="rate_limit_error", param="p", code="c")

    assert json.loads(body) == {
        "error": {"message": "no", "type": "rate_limit_error", "param": "p", "code": "c"}
    }
    assert one(encode_error_event(body)) == json.loads(body)
