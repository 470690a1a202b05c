import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from forge.core.events import CallReady, Finished, ReasoningDelta, TextDelta, Usage
from forge.core.request import Reasoning
from forge.wire.openai_emit import Identity
from forge.wire.responses_emit import ResponseEncoder
from forge.wire.responses_object import output_logprobs
from forge.wire.responses_reasoning import read_reasoning
from forge.wire.responses_request import ResponsesRequest
from forge.wire.responses_tools import Label
from forge.wire.sse import SSEDecoder

IDENTITY = Identity(id="", model="served", created=5, extra={"system_fingerprint": "fp"})
CALL = CallReady(id="c1", name="f", arguments='{"a": 1}')
USAGE = Usage(
    prompt_tokens=3,
    completion_tokens=4,
    cached_tokens=1,
    extra={"completion_tokens_details": {"reasoning_tokens": 2}},
)
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def request(**fields):
    given = {"instructions": None, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return ResponsesRequest(**{"messages": (), "given": given, **fields})


def finished(reason="stop", **fields):
    return Finished(**{"reason": reason, "usage": USAGE, "attempts": (), **fields})


def encode(*outputs, end=None, of=None):
    """All events of an answer, and its encoder."""
    encoder = ResponseEncoder(of or request(), IDENTITY, "t")
    data = encoder.begin() + b"".join(map(encoder.push, outputs)) + encoder.finish(end or finished(), 9)
    return events(data), encoder


def events(data):
    found = []
    for event in SSEDecoder().feed(data):
        value = json.loads(event.data)
        assert event.event == value["type"]
        found.append(value)
    return found


def rebuilt(stream):
    """The output as a client puts it together from the pieces alone; the whole values are checked against them."""
    items: dict[int, dict[str, Any]] = {}
    for event in stream:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(items)
            items[event["output_index"]] = {**event["item"], "parts": [], "text": ""}
            continue
        if "output_index" not in event:
            continue
        item = items[event["output_index"]]
        assert event.get("item_id", item["id"]) == item["id"]
        index = event.get("content_index", event.get("summary_index"))
        if kind.endswith("part.added"):
            assert index == len(item["parts"])
            item["parts"].append("")
        elif kind.endswith(".delta"):
            if index is None:
                item["text"] += event["delta"]
            else:
                item["parts"][index] += event["delta"]
        elif kind.endswith("part.done"):
            assert text_of(event["part"]) == item["parts"][index]
        elif kind == "output_item.done":
            done = event["item"]
            whole = done.get("content") or done.get("summary") or []
            assert [text_of(part) for part in whole] == item["parts"]
            assert done.get("arguments", done.get("input", "")) == item["text"]
            items[event["output_index"]] = done
        else:
            assert text_of(event) == (item["text"] if index is None else item["parts"][index])
    return [items[index] for index in sorted(items)]


def text_of(value):
    return next(value[name] for name in ("text", "refusal", "arguments", "input") if name in value)


def test_the_events_of_a_text():
    stream, encoder = encode(TextDelta("Hel"), TextDelta("lo"))
    assert [event["type"] for event in stream] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert json.loads(encoder.whole)["output"] == [
        {
            "id": "msg_t000",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}],
        }
    ]


def test_the_events_of_a_call():
    stream, encoder = encode(CALL)
    assert [event["type"] for event in stream[2:-1]] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
    assert json.loads(encoder.whole)["output"] == [
        {
            "id": "fc_t000",
            "type": "function_call",
            "status": "completed",
            "call_id": "c1",
            "name": "f",
            "arguments": '{"a": 1}',
        }
    ]


def test_a_custom_call_and_one_of_a_namespace():
    labels = {"c": Label("c", custom=True), "n__g": Label("g", "n")}
    calls = [
        CallReady(id="c1", name="c", arguments='{"input": "x"}'),
        CallReady(id="c2", name="n__g", arguments="{}"),
    ]
    stream, encoder = encode(*calls, of=request(labels=labels))
    kinds = [event["type"] for event in stream]
    assert "response.custom_tool_call_input.delta" in kinds
    assert "response.custom_tool_call_input.done" in kinds
    custom, inner = json.loads(encoder.whole)["output"]
    assert (custom["type"], custom["name"], custom["input"]) == ("custom_tool_call", "c", "x")
    assert "arguments" not in custom
    assert (inner["type"], inner["namespace"], inner["name"]) == ("function_call", "n", "g")


@pytest.mark.parametrize(
    ("summary", "kind", "field"),
    [
        pytest.param(False, "response.reasoning_text.delta", "content", id="text"),
        pytest.param(True, "response.reasoning_summary_text.delta", "summary", id="summary"),
    ],
)
def test_thinking(summary, kind, field):
    stream, encoder = encode(
        ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("a"), of=request(shows_summary=summary)
    )
    assert [event["type"] for event in stream].count(kind) == 2
    thought, message = json.loads(encoder.whole)["output"]
    assert [part["text"] for part in thought[field]] == ["hm"]
    assert thought["summary" if field == "content" else "content"] == []
    assert (thought["type"], thought["encrypted_content"], message["type"]) == ("reasoning", None, "message")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_that_a_client_keeps(field):
    _, encoder = encode(
        ReasoningDelta("h", field), ReasoningDelta("m", field), of=request(seals_reasoning=True)
    )
    (thought,) = json.loads(encoder.whole)["output"]
    assert read_reasoning(thought["encrypted_content"], "") == [Reasoning("hm", field)]


def test_a_redacted_block_leaves_the_thought_before_it_alone():
    outputs = [ReasoningDelta("hm"), ReasoningDelta("", redacted="r")]
    _, encoder = encode(*outputs, of=request(seals_reasoning=True))
    output = json.loads(encoder.whole)["output"]
    assert [read_reasoning(item["encrypted_content"], "") for item in output] == [
        [Reasoning("hm")],
        [Reasoning("", redacted="r")],
    ]


@pytest.mark.parametrize("logprobs", [[0.1], {"tokens": ["a"]}, {"content": None}, "odd"])
def test_other_forms_of_logprobs_have_no_place(logprobs):
    _, encoder = encode(TextDelta("a", {"logprobs": logprobs}))
    assert json.loads(encoder.whole)["output"][0]["content"][0]["logprobs"] == []


def test_signed_blocks_of_thinking_are_items_of_their_own():
    outputs = [
        ReasoningDelta("one"),
        ReasoningDelta("", signature="s1"),
        ReasoningDelta("", redacted="r"),
        ReasoningDelta("two", signature="s2"),
        TextDelta("a"),
    ]
    stream, encoder = encode(*outputs)
    output = json.loads(encoder.whole)["output"]
    blocks = [read_reasoning(item["encrypted_content"], "") for item in output[:-1]]
    assert blocks == [
        [Reasoning("one", signature="s1")],
        [Reasoning("", redacted="r")],
        [Reasoning("two", signature="s2")],
    ]
    assert [item["type"] for item in output] == ["reasoning"] * 3 + ["message"]
    assert rebuilt(stream) == output


def test_a_refusal_is_a_part_of_its_own():
    stream, encoder = encode(TextDelta("Well. "), TextDelta("", {"delta": {"refusal": "No."}}))
    (message,) = json.loads(encoder.whole)["output"]
    assert [part["type"] for part in message["content"]] == ["output_text", "refusal"]
    assert "response.refusal.delta" in [event["type"] for event in stream]
    assert rebuilt(stream) == [message]


def test_logprobs_and_annotations():
    tokens = [{"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}]
    citation = {"type": "url_citation", "url_citation": {"url": "u", "start_index": 0}}
    outputs = [
        TextDelta("a", {"logprobs": {"content": tokens}}),
        TextDelta("", {"delta": {"annotations": [citation]}}),
    ]
    stream, encoder = encode(*outputs)
    part = json.loads(encoder.whole)["output"][0]["content"][0]
    assert part["logprobs"] == tokens
    assert part["annotations"] == [{"type": "url_citation", "url": "u", "start_index": 0}]
    assert next(e["logprobs"] for e in stream if e["type"] == "response.output_text.delta") == tokens


@pytest.mark.parametrize(
    ("reason", "kind", "details"),
    [
        pytest.param("stop", "completed", None, id="stop"),
        pytest.param("tool_calls", "completed", None, id="calls"),
        pytest.param("eos", "completed", None, id="unknown"),
        pytest.param("length", "incomplete", {"reason": "max_output_tokens"}, id="length"),
        pytest.param("content_filter", "incomplete", {"reason": "content_filter"}, id="filter"),
    ],
)
def test_how_an_answer_ends(reason, kind, details):
    stream, encoder = encode(TextDelta("a"), end=finished(reason))
    whole = json.loads(encoder.whole)
    assert stream[-1]["type"] == f"response.{kind}"
    assert (whole["status"], whole["incomplete_details"], whole["error"]) == (kind, details, None)
    assert whole["output"][0]["status"] == kind
    assert whole["completed_at"] == (9 if kind == "completed" else None)


def test_the_usage():
    _, encoder = encode(TextDelta("a"))
    assert json.loads(encoder.whole)["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 7,
    }


def test_a_backend_that_counts_nothing():
    _, encoder = encode(TextDelta("a"), end=finished(usage=None))
    assert json.loads(encoder.whole)["usage"] is None


def test_fields_of_the_backends_own_survive():
    _, encoder = encode(TextDelta("a"), end=finished(extra={"timings": {"a": 1}, "choice": {"matched": "x"}}))
    whole = json.loads(encoder.whole)
    assert (whole["timings"], whole["matched"], whole["system_fingerprint"]) == ({"a": 1}, "x", "fp")
    assert (whole["id"], whole["model"], whole["created_at"]) == ("resp_t", "served", 5)


ERROR = {"message": "no luck", "type": "server_error", "param": None, "code": "c"}


def test_a_failure():
    encoder = ResponseEncoder(request(), IDENTITY, "t")
    stream = events(encoder.begin() + encoder.push(TextDelta("a")) + encoder.fail(ERROR, code="server_error"))
    failed, error = stream[-2:]
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert failed["response"]["error"] == {"code": "server_error", "message": "no luck"}
    assert (error["type"], error["error"], error["message"]) == ("error", ERROR, "no luck")
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))


def test_the_envelope_may_come_late():
    encoder = ResponseEncoder(request(), Identity(id="", model="asked", created=4), "t")
    first = events(encoder.begin() + encoder.beat())
    encoder.serve(IDENTITY)
    last = events(encoder.push(TextDelta("a")) + encoder.finish(finished(), 9))[-1]["response"]
    assert [event["type"] for event in first] == ["response.created", *["response.in_progress"] * 2]
    assert [event["sequence_number"] for event in first] == [0, 1, 2]
    assert first[0]["response"]["model"] == "asked"
    assert (last["model"], last["created_at"], last["system_fingerprint"]) == ("served", 4, "fp")


OUTPUTS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=4).map(TextDelta),
        st.text(min_size=1, max_size=4).map(ReasoningDelta),
        st.just(CALL),
        st.just(CallReady(id="c2", name="c", arguments='{"input": "x"}')),
        st.just(TextDelta("", {"delta": {"refusal": "no"}})),
        st.just(ReasoningDelta("", signature="s")),
        st.just(ReasoningDelta("", redacted="r")),
    ),
    max_size=8,
)


@settings(max_examples=30)
@given(OUTPUTS, st.booleans(), st.booleans(), st.sampled_from(["stop", "length"]))
def test_a_stream_is_its_object(outputs, summaries, sealing, reason):
    of = request(labels={"c": Label("c", custom=True)}, shows_summary=summaries, seals_reasoning=sealing)
    stream, encoder = encode(*outputs, end=finished(reason), of=of)
    whole = json.loads(encoder.whole)
    assert rebuilt(stream) == whole["output"] == encoder.output
    assert stream[-1]["response"] == whole
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert len({item["id"] for item in whole["output"]}) == len(whole["output"])
    Response.model_validate(whole)
    for event in stream:
        EVENT.validate_python(event)


def test_tokens_have_their_bytes_and_rivals_even_where_the_chat_left_them_out():
    rival = {"token": "é", "logprob": -2.0, "bytes": None}
    given = {"content": [{"token": "a", "logprob": -1.0, "bytes": None, "top_logprobs": [rival]}, "nonsense"]}
    whole = {"token": "é", "logprob": -2.0, "bytes": [195, 169], "top_logprobs": []}
    assert output_logprobs(given) == [
        {"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": [whole]},
    ]
    assert output_logprobs({"tokens": ["a"]}) == output_logprobs(None) == []


def test_the_tier_that_served_an_answer_is_told_and_the_wanted_one_where_nobody_said():
    asked = {"service_tier": "auto"}
    for extra, tier in (({"service_tier": "flex"}, "flex"), ({}, "auto")):
        encoder = ResponseEncoder(
            request(given=asked), Identity(id="", model="m", created=5, extra=extra), "t"
        )
        encoder.finish(finished(), 9)
        assert json.loads(encoder.whole)["service_tier"] == tier


def test_an_annotation_is_an_event_of_its_own():
    citation = {"start_index": 0, "end_index": 2, "url": "https://x", "title": "X"}
    given = {"delta": {"annotations": [{"type": "url_citation", "url_citation": citation}]}}
    stream, encoder = encode(TextDelta("It is so."), TextDelta("", given), TextDelta("", given))
    added = [event for event in stream if event["type"] == "response.output_text.annotation.added"]
    assert [event["annotation_index"] for event in added] == [0, 1]
    assert [event["annotation"] for event in added] == encoder.output[0]["content"][0]["annotations"]
    assert added[0]["annotation"] == {"type": "url_citation", **citation}
