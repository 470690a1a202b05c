import json
import re

import pytest

from forge.core.events import CallReady, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.core.request import Protocol
from forge.errors import BackendError, RequestError
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.error_response import Failure, describe
from forge.proxy.openai_door import OpenAIDoor

DOOR = AnthropicDoor()


class Progress:
    def __init__(self, started=None):
        self.started = started


def request(**fields):
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, **fields}
    return DOOR.decode(json.dumps(body).encode())


def finished(**fields):
    return Finished(**{"reason": "stop", "usage": None, "attempts": (), **fields})


def events(data):
    return [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]


def failed(status, body):
    return describe(BackendError(status, "", raw_body=json.dumps(body)))


def test_a_stream():
    reply = DOOR.reply(request(), Progress(Started(id="msg_7", model="served", usage=Usage(prompt_tokens=3))))
    outputs = [ReasoningDelta("hm"), TextDelta("Hi"), CallReady(id="c", name="f", arguments="{}")]
    sent = events(b"".join([*(reply.push(o) for o in outputs), reply.finish(finished(reason="tool_calls"))]))

    assert sent[0]["message"]["id"] == "msg_7"
    assert sent[0]["message"]["model"] == "served"
    assert sent[0]["message"]["usage"]["input_tokens"] == 3
    kinds = [event["content_block"]["type"] for event in sent if event["type"] == "content_block_start"]
    assert kinds == ["thinking", "text", "tool_use"]
    assert sent[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_stream_without_a_single_output():
    sent = events(DOOR.reply(request(model="asked"), Progress()).finish(finished()))
    assert [event["type"] for event in sent] == ["message_start", "message_delta", "message_stop"]
    assert sent[0]["message"]["model"] == "asked"
    assert re.fullmatch(r"msg_[0-9a-f]{24}", sent[0]["message"]["id"])


def test_only_a_body_of_its_own_protocol_passes():
    body = b'{"type": "message"}'
    own = finished(body=body, protocol=Protocol.ANTHROPIC)
    other = finished(body=b'{"object": "chat.completion"}', protocol=Protocol.OPENAI)

    assert DOOR.reply(request(), Progress()).whole([], own) == body
    assert json.loads(DOOR.reply(request(), Progress()).whole([TextDelta("Hi")], other))["type"] == "message"
    chat = OpenAIDoor()
    asked = chat.decode(b'{"messages": []}')
    answer = json.loads(chat.reply(asked, Progress()).whole([TextDelta("Hi")], own))
    assert answer["object"] == "chat.completion"


def test_ids_of_calls():
    first, second = DOOR.new_call_id(), DOOR.new_call_id()
    assert re.fullmatch(r"toolu_[0-9a-f]{24}", first)
    assert first != second


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (failed(400, {"error": {"message": "no", "type": "server_error"}}), "invalid_request_error"),
        (failed(413, {"error": {"message": "no", "type": "invalid_request_error"}}), "request_too_large"),
        (failed(503, {"error": {"message": "no", "type": "unavailable_error"}}), "overloaded_error"),
        (failed(500, {"error": "no"}), "api_error"),
        (describe(RequestError("no", "messages")), "invalid_request_error"),
        (describe(ValueError("secret")), "api_error"),
    ],
)
def test_an_error_of_another_protocol_gets_this_ones_form(failure, kind):
    body = json.loads(DOOR.error_body(failure))
    assert body["type"] == "error"
    assert body["error"]["type"] == kind
    assert "secret" not in body["error"]["message"]
    [event] = events(DOOR.error_event(failure))
    assert event == body


def test_an_error_of_this_protocol_passes_as_it_is():
    body = {"type": "error", "error": {"type": "billing_error", "message": "no"}, "request_id": "req_1"}
    failure = failed(400, body)

    assert json.loads(DOOR.error_body(failure)) == body
    other = json.loads(OpenAIDoor().error_body(failure))
    assert other["error"]["message"] == "no"
    assert "request_id" not in other


def test_a_pretty_printed_error_is_one_event():
    body = b'{\n "type": "error",\n "error": {"type": "api_error",\n "message": "x"}}'
    failure = Failure(status=500, message="x", type="api_error", own_body=body, protocol=Protocol.ANTHROPIC)
    assert events(DOOR.error_event(failure)) == [json.loads(body)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "prompt is too long: 9030 tokens > 4096 maximum",
        ),
        (
            "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens.",
            "prompt is too long: 4097 tokens > 4096 maximum",
        ),
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
            "prompt is too long: 130001 tokens > 128000 maximum",
        ),
        ("no such model", "no such model"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_in_the_apis_own_words(message, expected):
    body = json.loads(DOOR.error_body(failed(400, {"error": {"message": message}})))
    assert body["error"]["message"].startswith(expected)
    assert message in body["error"]["message"]


def test_a_body_that_is_no_text_is_refused():
    with pytest.raises(RequestError):
        DOOR.decode(b'{"messages": [], "metadata": {"user_id": "\xff"}}')
