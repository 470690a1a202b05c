import json

import pytest

from forge.core.events import CallDelta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import BackendError, StreamError
from forge.wire.ollama import ObjectDecoder


def feed(*objects):
    decoder = ObjectDecoder()
    return [delta for o in objects for delta in decoder.feed(json.dumps(o).encode())]


def said(message, **more):
    return {"model": "m", "message": message, "done": False, **more}


def last(**more):
    return {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, **more}


def test_text_thinking_usage_and_leftovers():
    deltas = feed(
        said({"thinking": "hm", "content": ""}),
        said({"content": "a"}),
        last(done_reason="stop", prompt_eval_count=5, eval_count=2, total_duration=9),
    )

    assert deltas == [
        Started(model="m"),
        ReasoningDelta("hm"),
        TextDelta("a"),
        Usage(prompt_tokens=5, completion_tokens=2),
        Finish(reason="stop", extra={"total_duration": 9}),
    ]


def test_each_call_is_whole_and_has_its_own_index():
    call = {"function": {"index": 0, "name": "f", "arguments": {"a": [1]}}}
    deltas = feed(
        said({"tool_calls": [{"id": "1", **call}]}), said({"tool_calls": [call]}), last(done_reason="stop")
    )

    assert deltas[1:] == [
        CallDelta(index=0, id="1", name="f", arguments='{"a":[1]}'),
        CallDelta(index=1, name="f", arguments='{"a":[1]}'),
        Finish(reason="tool_calls"),
    ]


@pytest.mark.parametrize(("arguments", "text"), [(None, "{}"), ("{oops", "{oops"), ({}, "{}")])
def test_arguments_of_other_forms(arguments, text):
    deltas = feed(said({"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}))

    assert deltas[-1].arguments == text


@pytest.mark.parametrize(
    ("given", "reason"),
    [("stop", "stop"), ("length", "length"), ("load", "stop"), (None, "stop"), ("odd", "odd")],
)
def test_reasons(given, reason):
    assert feed(last(done_reason=given))[-1] == Finish(reason=reason)


def test_a_cut_off_call_is_not_called_a_call():
    call = {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}

    assert feed(said(call), last(done_reason="length"))[-1].reason == "length"


def test_errors():
    with pytest.raises(BackendError, match="out of memory") as caught:
        feed(said({"content": "a"}), {"error": "out of memory"})
    assert caught.value.status_code == 500
    with pytest.raises(BackendError, match="not a JSON object"):
        ObjectDecoder().feed(b"[]")
    with pytest.raises(StreamError):
        ObjectDecoder().end()
