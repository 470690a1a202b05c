import json
import logging
from itertools import pairwise
from pathlib import Path

import pytest

from forge.core.events import CallReady, Finished, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import RequestError
from forge.proxy.error_response import Failure
from forge.proxy.response_store import ResponseStore
from forge.proxy.responses_door import ResponsesDoor
from forge.wire.openai import encode_request
from forge.wire.sse import SSEDecoder

CODEX = json.loads((Path(__file__).parents[1] / "fixtures/clients/codex/first.json").read_text())
STARTED = Started(id="chatcmpl-1", model="served", created=5)
CALL = CallReady(id="c1", name="exec_command", arguments='{"cmd":"echo hi"}')


class Progress:
    def __init__(self, started=STARTED):
        self.started = started


def finished(reason="stop", **fields):
    usage = Usage(prompt_tokens=2, completion_tokens=3)
    return Finished(**{"reason": reason, "usage": usage, "attempts": (), "started": STARTED, **fields})


@pytest.fixture
def door():
    return ResponsesDoor(ResponseStore())


def decode(door, **fields):
    return door.decode(json.dumps({"input": "Hi", **fields}).encode())


def events(data):
    return [json.loads(event.data) for event in SSEDecoder().feed(data)]


def answer(door, request, *outputs, end=None):
    """The answer's object, streamed and whole; the two are compared by the caller."""
    reply = door.reply(request, Progress())
    data = b"".join(reply.push(output) for output in outputs) + reply.finish(end or finished())
    streamed = events(data)[-1]["response"]
    whole = json.loads(door.reply(request, Progress()).whole(list(outputs), end or finished()))
    return streamed, whole


def without_ids(value):
    if isinstance(value, dict):
        changing = ("id", "completed_at")
        return {name: without_ids(item) for name, item in value.items() if name not in changing}
    return [without_ids(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "outputs",
    [
        pytest.param([], id="nothing"),
        pytest.param([TextDelta("a"), TextDelta("b")], id="text"),
        pytest.param([ReasoningDelta("hm"), TextDelta("a"), CALL, CALL], id="all"),
    ],
)
def test_the_streamed_object_is_the_whole_one(door, outputs):
    streamed, whole = answer(door, decode(door, model="m"), *outputs)
    assert without_ids(streamed) == without_ids(whole)
    assert streamed["id"] != whole["id"]
    assert (whole["model"], whole["created_at"]) == ("served", 5)


def test_a_backend_without_an_envelope(door):
    whole = json.loads(door.reply(decode(door, model="asked"), Progress(None)).whole([], finished()))
    assert whole["model"] == "asked"
    assert whole["created_at"] > 0


def test_a_silence_is_broken_by_an_event(door):
    progress = Progress(None)
    reply = door.reply(decode(door, model="asked"), progress)
    first = events(reply.beat())
    assert [event["type"] for event in first] == ["response.created", "response.in_progress"]
    progress.started = STARTED
    rest = events(reply.push(TextDelta("a")) + reply.beat() + reply.finish(finished()))
    assert [event["sequence_number"] for event in first + rest] == list(range(len(first) + len(rest)))
    assert [event["type"] for event in rest].count("response.in_progress") == 1
    assert first[0]["response"]["id"] == rest[-1]["response"]["id"]
    assert (first[0]["response"]["model"], rest[-1]["response"]["model"]) == ("asked", "served")


@pytest.mark.parametrize("begun", [pytest.param(True, id="within"), pytest.param(False, id="before")])
def test_a_failure_is_told_in_a_response(door, begun):
    reply = door.reply(decode(door), Progress())
    sent = events((reply.push(TextDelta("a")) if begun else b"") + reply.fail(FAILURE))
    assert [sent[0]["type"], sent[-2]["type"], sent[-1]["type"]] == [
        "response.created",
        "response.failed",
        "error",
    ]


def test_responses_are_stored_and_gone_on_from(door):
    _, whole = answer(door, decode(door, instructions="i"), TextDelta("a"))
    later = decode(door, input="more", previous_response_id=whole["id"])
    assert [m["content"] for m in json.loads(encode_request(later))["messages"]] == ["Hi", "a", "more"]


@pytest.mark.parametrize("end", [pytest.param("length", id="cut"), pytest.param("stop", id="whole")])
def test_what_is_not_to_be_stored(end):
    store = ResponseStore()
    door = ResponsesDoor(store)
    answer(door, decode(door, store=False), TextDelta("a"), end=finished(end))
    assert len(store) == 0
    answer(door, decode(door), TextDelta("a"), end=finished(end))
    assert len(store) == 2


def test_what_is_left_out_is_logged_once(door, caplog):
    with caplog.at_level(logging.INFO, "forge.proxy"):
        for _ in range(2):
            decode(door, tools=[{"type": "web\nsearch"}], max_tool_calls=3)
    (record,) = caplog.records
    assert "max_tool_calls" in record.getMessage()
    assert "web" in record.getMessage()
    assert "\n" not in record.getMessage()


def test_bytes_that_are_no_text_are_the_callers_fault(door):
    with pytest.raises(RequestError):
        door.decode(b'{"input": "Hi", "x": "\xff"}')


FAILURE = Failure(status=429, message="slow", type="rate_limit_error", code="c", param="p")
ERROR = {"message": "slow", "type": "rate_limit_error", "param": "p", "code": "c"}


def test_errors(door):
    assert json.loads(door.error_body(FAILURE)) == {"error": ERROR}
    (event,) = events(door.error_event(FAILURE))
    assert (event["type"], event["error"], event["message"]) == ("error", ERROR, "slow")


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        pytest.param(FAILURE, "rate_limit_exceeded", id="rate"),
        pytest.param(
            Failure(status=400, message="m", type="exceed_context_size_error"),
            "context_length_exceeded",
            id="context",
        ),
        pytest.param(Failure(status=400, message="m", type="x"), "invalid_prompt", id="request"),
        pytest.param(Failure(status=502, message="m", type="x"), "server_error", id="server"),
    ],
)
def test_a_failed_response_has_a_code_that_clients_know(door, failure, code):
    reply = door.reply(decode(door), Progress())
    *_, failed, error = events(reply.push(TextDelta("a")) + reply.fail(failure))
    assert failed["response"]["error"]["code"] == code
    assert error["type"] == "error"


def test_a_codex_session(door):
    """Each turn's chat begins with all of the one before, and what Codex sends back is understood."""
    items = list(CODEX["input"])
    bodies = []
    for outputs, results in [
        ([ReasoningDelta("I should run it."), TextDelta("Running."), CALL], ["hi"]),
        (
            [
                CallReady(id="c2", name="multi_agent_v1__spawn_agent", arguments='{"message":"x"}'),
                CallReady(id="c3", name="apply_patch", arguments='{"input":"*** Begin Patch"}'),
            ],
            ["started", "done"],
        ),
        ([TextDelta("All done.")], []),
    ]:
        request = door.decode(json.dumps({**CODEX, "input": items}).encode())
        bodies.append(encode_request(request))
        _, whole = answer(door, request, *outputs)
        items += whole["output"]
        calls = [item for item in whole["output"] if "call_id" in item]
        items += [
            {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": result}
            for call, result in zip(calls, results, strict=True)
        ]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter[: shorter.rindex(b"]")])
    spawn = next(item for item in items if item.get("call_id") == "c2")
    assert (spawn["namespace"], spawn["name"]) == ("multi_agent_v1", "spawn_agent")
    patch = next(item for item in items if item.get("call_id") == "c3")
    assert (patch["type"], patch["input"]) == ("custom_tool_call", "*** Begin Patch")
    chat = json.loads(bodies[-1])
    assert [m["role"] for m in chat["messages"]] == [
        *("system", "user", "user", "assistant", "tool", "assistant", "tool", "tool"),
    ]
    assert chat["messages"][3]["reasoning_content"] == "I should run it."
    assert [tool["function"]["name"] for tool in chat["tools"]] == [
        "exec_command",
        "write_stdin",
        "multi_agent_v1__spawn_agent",
        "multi_agent_v1__close_agent",
        "apply_patch",
    ]
