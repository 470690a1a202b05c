import json

import pytest

from forge.core.events import CallDelta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import BackendError, StreamError
from forge.wire.openai import ChunkDecoder, decode_response, read_usage


def chunk(delta=None, reason=None, choice=None, **more):
    choices = [{"index": 0, "delta": delta or {}, "finish_reason": reason, **(choice or {})}]
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }


def stream(*chunks, done=True):
    decoder = ChunkDecoder()
    deltas = [d for c in chunks for d in decoder.feed(json.dumps(c).encode())]
    if done:
        assert decoder.feed(b"[DONE]") == []
    return deltas + decoder.end()


def whole(message, reason="stop", **more):
    body = {
        "id": "x",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    return decode_response(json.dumps({**body, **more}).encode())


def shown(deltas):
    return [d for d in deltas if not isinstance(d, Started | Finish | Usage)]


STARTED = Started(id="x", model="m", created=1)


def test_a_stream():
    deltas = stream(chunk({"role": "assistant", "content": None}), chunk({"content": "a"}), chunk({}, "stop"))

    assert deltas == [STARTED, TextDelta("a"), Finish(reason="stop")]


NULLS = dict.fromkeys(
    ["content", "refusal", "tool_calls", "function_call", "reasoning", "audio", "annotations"]
)


@pytest.mark.parametrize(
    ("delta", "deltas"),
    [
        pytest.param({"content": "a"}, [TextDelta("a")], id="text"),
        pytest.param({**NULLS, "content": "a"}, [TextDelta("a")], id="null everywhere else"),
        pytest.param(NULLS, [], id="null everywhere"),
        pytest.param({"content": ""}, [], id="empty text"),
        pytest.param(
            {"content": [{"type": "text", "text": "a"}, {"type": "x"}]}, [TextDelta("a")], id="text parts"
        ),
        pytest.param({"reasoning_content": "r"}, [ReasoningDelta("r")], id="reasoning_content"),
        pytest.param({"reasoning": "r"}, [ReasoningDelta("r", "reasoning")], id="reasoning"),
        pytest.param(
            {"reasoning": "r", "reasoning_content": "r"},
            [ReasoningDelta("r", "reasoning")],
            id="thought twice",
        ),
        pytest.param({"refusal": "no"}, [TextDelta("", {"delta": {"refusal": "no"}})], id="refusal"),
        pytest.param(
            {"function_call": {"name": "f", "arguments": "{}"}},
            [CallDelta(index=0, name="f", arguments="{}")],
            id="function_call",
        ),
        pytest.param(
            {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            [CallDelta(index=0, id="1", name="f", arguments="{}")],
            id="tool_calls",
        ),
        pytest.param(
            {"tool_calls": [None, "x", {"index": 0, "function": None}]},
            [CallDelta(index=0, name="")],
            id="malformed calls",
        ),
    ],
)
def test_every_shape_of_delta_streamed_and_whole(delta, deltas):
    assert shown(stream(chunk(delta, "stop"))) == deltas
    assert shown(whole(delta)) == deltas


def test_logprobs_come_with_their_text():
    deltas = stream(chunk({"content": "a"}, choice={"logprobs": {"content": [1]}}), chunk({}, "stop"))

    assert shown(deltas) == [TextDelta("a", {"logprobs": {"content": [1]}})]


@pytest.mark.parametrize("place", ["first", "finish", "own", "each"])
def test_usage_counts_in_whatever_chunk_it_comes(place):
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    chunks = [chunk({"content": "a"}), chunk({}, "stop")]
    if place == "own":
        chunks.append({"id": "x", "choices": [], "usage": usage})
    else:
        for one in {"first": chunks[:1], "finish": chunks[1:], "each": chunks}[place]:
            one["usage"] = usage

    deltas = stream(*chunks)

    assert deltas[-2:] == [Usage(prompt_tokens=3, completion_tokens=2), Finish(reason="stop")]
    assert sum(isinstance(d, Usage) for d in deltas) == 1


def test_fields_of_the_answer_survive():
    deltas = stream(
        chunk({"content": "a"}, system_fingerprint="fp", obfuscation="k1"),
        chunk(
            {},
            "stop",
            choice={"stop_reason": 7, "delta": None},
            system_fingerprint="fp",
            obfuscation="k2",
            timings={"a": 1},
        ),
    )

    assert deltas[0].extra == {"system_fingerprint": "fp", "obfuscation": "k1"}
    assert deltas[-1].extra == {"obfuscation": "k2", "timings": {"a": 1}, "choice": {"stop_reason": 7}}


def test_other_choices_do_not_mix_in():
    other = chunk({"content": "B"}, "length")
    other["choices"][0]["index"] = 1

    assert stream(chunk({"content": "a"}), other, chunk({}, "stop"))[1:] == [
        TextDelta("a"),
        Finish(reason="stop"),
    ]


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter", "sleepy"])
def test_finish_reasons_pass(reason):
    assert stream(chunk({}, reason))[-1].reason == reason


def test_done_without_a_reason_is_an_end():
    call = {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]}

    assert stream(chunk({"content": "a"}))[-1] == Finish(reason="stop")
    assert stream(chunk(call))[-1] == Finish(reason="tool_calls")


def test_an_end_without_reason_or_done_is_an_error():
    with pytest.raises(StreamError):
        stream(chunk({"content": "a"}), done=False)
    with pytest.raises(StreamError):
        stream(done=False)


def test_a_reason_without_done_is_an_end():
    assert stream(chunk({}, "stop"), done=False)[-1] == Finish(reason="stop")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        pytest.param({"code": 503, "message": "busy"}, 503, "busy", id="object with code"),
        pytest.param({"message": "bad", "code": "rate_limit"}, 500, "bad", id="code a word"),
        pytest.param("out of memory", 500, "out of memory", id="text"),
        pytest.param({}, 500, "500", id="empty"),
    ],
)
def test_an_error_event_is_an_error(error, status, words):
    decoder = ChunkDecoder()
    with pytest.raises(BackendError, match=words) as caught:
        decoder.feed(json.dumps({"error": error}).encode())
    assert caught.value.status_code == status


@pytest.mark.parametrize("data", [b"nope", b"[]", b'"x"', b"{", b"<html>", b"[" * 100_000])
def test_an_event_that_is_no_object_is_an_error(data):
    with pytest.raises(BackendError):
        ChunkDecoder().feed(data)


@pytest.mark.parametrize("data", [b"", b" ", b"{}", b'{"choices":null}', b'{"choices":[null,5,{}]}'])
def test_an_event_that_says_nothing_is_harmless(data):
    assert shown(ChunkDecoder().feed(data)) == []


def test_null_errors_are_none():
    assert shown(stream(chunk({"content": "a"}, "stop", error=None))) == [TextDelta("a")]


def test_an_emoji_in_two_events_is_one():
    deltas = stream(chunk({"content": "a\ud83d"}), chunk({"content": "\ude00b"}), chunk({}, "stop"))

    assert shown(deltas) == [TextDelta("a"), TextDelta("😀b")]


def test_half_an_emoji_at_the_end_is_a_replacement_character():
    deltas = stream(chunk({"content": "a\ud83d"}), chunk({}, "stop"))

    assert shown(deltas) == [TextDelta("a"), TextDelta("\ufffd")]


def test_bytes_that_are_no_utf8_do_not_end_a_stream():
    decoder = ChunkDecoder()

    deltas = decoder.feed(b'{"choices":[{"delta":{"content":"a\xff"}}]}')

    assert shown(deltas) == [TextDelta("a\ufffd")]


def test_a_whole_answer_keeps_its_bytes():
    body = b'{ "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'

    assert decode_response(body)[-1].body == body


@pytest.mark.parametrize("reason", ["", ',"finish_reason":null', ',"finish_reason":""'])
def test_a_whole_answer_that_does_not_say_why_it_ended_is_told_anew(reason):
    calls = b'"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]'
    finish = decode_response(b'{"choices":[{"message":{%b}%b}]}' % (calls, reason.encode()))[-1]
    assert finish.reason == "tool_calls"
    assert finish.body is None


@pytest.mark.parametrize(
    "body", [b"", b"<html></html>", b"[]", b"{}", b'{"choices":[]}', b'{"choices":null}']
)
def test_a_whole_answer_without_choices_is_an_error(body):
    with pytest.raises(BackendError):
        decode_response(body)


def test_a_whole_answer_that_is_an_error_under_a_good_status():
    with pytest.raises(BackendError, match="gone"):
        decode_response(b'{"error":{"message":"gone","code":410}}')


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        pytest.param({}, Usage(), id="empty"),
        pytest.param(
            {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(),
            id="null",
        ),
        pytest.param(
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4, "audio": 0},
            },
            Usage(
                prompt_tokens=5,
                completion_tokens=2,
                cached_tokens=4,
                extra={"prompt_tokens_details": {"cached_tokens": 4, "audio": 0}},
            ),
            id="cached",
        ),
        pytest.param(
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "total_tokens": 9,
                "completion_tokens_details": {"r": 2},
            },
            Usage(
                prompt_tokens=5,
                completion_tokens=2,
                extra={"completion_tokens_details": {"r": 2}, "total_tokens": 9},
            ),
            id="total beyond the sum",
        ),
    ],
)
def test_usage(given, usage):
    assert read_usage(given) == usage
