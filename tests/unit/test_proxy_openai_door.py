import json

import pytest

from forge.core.events import CallReady, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import RequestError
from forge.proxy.error_response import Failure
from forge.proxy.openai_door import OpenAIDoor

DOOR = OpenAIDoor()
STARTED = Started(id="chatcmpl-1", model="served", created=5)
CALL = CallReady(id="c1", name="get_weather", arguments='{"city": "Paris"}')


class Progress:
    def __init__(self, started=STARTED):
        self.started = started


def request(**fields):
    return DOOR.decode(json.dumps({"messages": [], **fields}).encode())


def finished(reason="stop", **fields):
    usage = Usage(prompt_tokens=2, completion_tokens=3)
    return Finished(**{"reason": reason, "usage": usage, "attempts": (), "started": STARTED, **fields})


def events(data):
    lines = [line[6:] for line in data.decode().split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def test_a_stream_of_text_reasoning_and_calls():
    reply = DOOR.reply(request(), Progress())
    outputs = [ReasoningDelta("hm"), TextDelta("Hi"), CALL, CALL]
    sent = events(b"".join([*(reply.push(o) for o in outputs), reply.finish(finished("tool_calls"))]))
    deltas = [e["choices"][0]["delta"] for e in sent[:-1]]
    assert deltas[0]["role"] == "assistant"
    assert "".join(d.get("reasoning_content") or "" for d in deltas) == "hm"
    assert "".join(d.get("content") or "" for d in deltas) == "Hi"
    assert [c["index"] for d in deltas for c in d.get("tool_calls", [])] == [0, 1]
    assert sent[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert sent[-1] == "[DONE]"
    assert {(e["id"], e["model"], e["created"]) for e in sent[:-1]} == {("chatcmpl-1", "served", 5)}


def test_a_stream_without_a_single_output_still_has_a_role_and_an_end():
    sent = events(DOOR.reply(request(), Progress(None)).finish(finished()))
    assert sent[0]["choices"][0]["delta"]["role"] == "assistant"
    assert sent[-2]["choices"][0]["finish_reason"] == "stop"


def test_an_answer_without_an_envelope_gets_one():
    body = json.loads(DOOR.reply(request(model="asked"), Progress(None)).whole([], finished(started=None)))
    assert body["id"].startswith("chatcmpl-")
    assert (body["object"], body["model"]) == ("chat.completion", "asked")
    assert body["created"] > 0


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        pytest.param({"include_usage": True}, True, id="asked"),
        pytest.param({"include_usage": False}, False, id="declined"),
        pytest.param({}, False, id="empty"),
        pytest.param(None, False, id="null"),
        pytest.param("odd", False, id="odd"),
    ],
)
def test_usage_only_where_it_was_asked_for(options, wanted):
    sent = events(DOOR.reply(request(stream_options=options), Progress()).finish(finished()))
    assert any(e != "[DONE]" and "usage" in e for e in sent) is wanted


def test_the_backends_own_body_is_the_answer():
    body = b'{"odd":   "spacing"}'
    assert DOOR.reply(request(), Progress()).whole([TextDelta("x")], finished(body=body)) is body


def test_whole_answers():
    answer = json.loads(
        DOOR.reply(request(), Progress()).whole([TextDelta("a"), CALL], finished("tool_calls"))
    )
    assert answer["choices"][0]["message"]["content"] == "a"
    assert answer["choices"][0]["message"]["tool_calls"][0]["id"] == "c1"
    assert answer["usage"]["total_tokens"] == 5


def test_errors():
    failure = Failure(status=429, message="slow", type="rate_limit_error", code="c", param="p")
    expected = {"error": {"message": "slow", "type": "rate_limit_error", "param": "p", "code": "c"}}
    assert json.loads(DOOR.error_body(failure)) == expected
    assert events(DOOR.error_event(failure)) == [expected]


def test_a_pretty_printed_error_is_one_event():
    body = b'{\n  "error": {\n    "message": "x"\n  }\n}'
    failure = Failure(status=500, message="x", type="server_error", own_body=body)
    assert DOOR.error_body(failure) == body
    assert events(DOOR.error_event(failure)) == [{"error": {"message": "x"}}]


def test_bytes_that_are_no_text_are_the_callers_fault():
    with pytest.raises(RequestError):
        DOOR.decode(b'{"messages": [], "x": "\xff"}')
