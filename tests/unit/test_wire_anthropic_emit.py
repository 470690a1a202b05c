import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.core.events import (
    BlockDelta,
    CallDelta,
    CallReady,
    Finish,
    Finished,
    ReasoningDelta,
    Started,
    TextDelta,
    Usage,
)
from forge.core.request import Protocol
from forge.wire.anthropic import (
    EventDecoder,
    EventEncoder,
    Identity,
    MessageBuilder,
    decode_response,
    encode_error,
    encode_error_event,
    encode_usage,
    error_type,
)
from forge.wire.sse import SSEDecoder

IDENTITY = Identity("msg_1", "m")
CALL = CallReady(id="toolu_1", name="f", arguments='{"a": 1}')
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
CITED = {"type": "citations_delta", "citation": {"cited_text": "x"}}


def own(value):
    return BlockDelta(value, Protocol.ANTHROPIC)


def finished(reason="stop", usage=None, **fields):
    return Finished(reason=reason, usage=usage, attempts=(), **fields)


def piece(encoder, output):
    kinds = {
        TextDelta: encoder.text,
        ReasoningDelta: encoder.reasoning,
        CallReady: encoder.call,
        BlockDelta: encoder.block,
    }
    return kinds[type(output)](output)


def events(outputs, end=None, usage=None):
    encoder = EventEncoder(IDENTITY, usage)
    data = encoder.start() + b"".join(piece(encoder, output) for output in outputs)
    read = SSEDecoder().feed(data + encoder.finish(end or finished()))
    for event in read:
        assert json.loads(event.data)["type"] == event.event
    return [json.loads(event.data) for event in read]


def message(outputs, end=None):
    builder = MessageBuilder()
    for output in outputs:
        builder.add(output)
    return json.loads(builder.encode(IDENTITY, end or finished()))


def accumulated(sent):
    """The content that a client puts together from events."""
    blocks = []
    for event in sent:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(dict(event["content_block"]))
            partial = ""
        elif event["type"] == "content_block_delta":
            assert event["index"] == len(blocks) - 1
            delta = event["delta"]
            match delta["type"]:
                case "text_delta":
                    blocks[-1]["text"] += delta["text"]
                case "thinking_delta":
                    blocks[-1]["thinking"] += delta["thinking"]
                case "signature_delta":
                    blocks[-1]["signature"] = delta["signature"]
                case "citations_delta":
                    blocks[-1].setdefault("citations", []).append(delta["citation"])
                case "input_json_delta":
                    partial += delta["partial_json"]
                    blocks[-1]["input"] = json.loads(partial)
    starts = [event["type"] for event in sent].count("content_block_start")
    assert starts == [event["type"] for event in sent].count("content_block_stop") == len(blocks)
    return blocks


OUTPUTS = [
    pytest.param([], [], id="nothing"),
    pytest.param(
        [TextDelta("Su"), TextDelta("n"), TextDelta("")], [{"type": "text", "text": "Sun"}], id="text"
    ),
    pytest.param(
        [ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("Hi"), CALL, CALL],
        [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        ],
        id="all",
    ),
    pytest.param(
        [ReasoningDelta("a"), ReasoningDelta("", signature="s"), ReasoningDelta("b", signature="t")],
        [
            {"type": "thinking", "thinking": "a", "signature": "s"},
            {"type": "thinking", "thinking": "b", "signature": "t"},
        ],
        id="signed",
    ),
    pytest.param(
        [ReasoningDelta("", redacted="x"), TextDelta("Hi")],
        [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Hi"}],
        id="redacted",
    ),
    pytest.param(
        [TextDelta("a"), own(CITED), own({"type": "content_block_stop"}), TextDelta("b"), own(SEARCH)],
        [
            {"type": "text", "text": "a", "citations": [{"cited_text": "x"}]},
            {"type": "text", "text": "b"},
            SEARCH,
        ],
        id="own-blocks",
    ),
    pytest.param([own(CITED)], [], id="citation-of-nothing"),
    pytest.param([TextDelta("", {"logprobs": {}})], [], id="only-logprobs"),
]


@pytest.mark.parametrize(("outputs", "content"), OUTPUTS)
def test_content_is_the_same_streamed_and_whole(outputs, content):
    assert accumulated(events(outputs)) == content
    assert message(outputs)["content"] == content


def test_the_order_of_events():
    sent = events([TextDelta("Hi"), CALL], finished("tool_calls"))
    assert [event["type"] for event in sent] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert sent[0]["message"]["id"] == "msg_1"
    assert sent[0]["message"]["stop_reason"] is None


REASONS = [
    ("stop", {}, Protocol.OPENAI, "end_turn", None),
    ("length", {}, Protocol.OPENAI, "max_tokens", None),
    ("tool_calls", {}, Protocol.OPENAI, "tool_use", None),
    ("function_call", {}, Protocol.OPENAI, "tool_use", None),
    ("content_filter", {}, Protocol.OPENAI, "refusal", None),
    ("load", {}, Protocol.OLLAMA, "end_turn", None),
    ("stop", {"choice": {"stop_reason": "END"}}, Protocol.OPENAI, "stop_sequence", "END"),
    ("stop", {"choice": {"stop_reason": 128009}}, Protocol.OPENAI, "end_turn", None),
    ("tool_calls", {"choice": {"stop_reason": "END"}}, Protocol.OPENAI, "tool_use", None),
    ("stop", {"stop_reason": "stop_sequence", "stop_sequence": "X"}, Protocol.ANTHROPIC, "stop_sequence", "X"),
    ("pause_turn", {"stop_reason": "pause_turn"}, Protocol.ANTHROPIC, "pause_turn", None),
    ("content_filter", {"stop_reason": "refusal"}, Protocol.ANTHROPIC, "refusal", None),
    (
        "length",
        {"stop_reason": "model_context_window_exceeded"},
        Protocol.ANTHROPIC,
        "model_context_window_exceeded",
        None,
    ),
    # A call that was read out of the text: the answer did not end where the backend thought.
    ("tool_calls", {"stop_reason": "stop_sequence", "stop_sequence": "X"}, Protocol.ANTHROPIC, "tool_use", None),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "extra", "protocol", "stop_reason", "sequence"), REASONS)
def test_why_it_ended(reason, extra, protocol, stop_reason, sequence):
    end = finished(reason, extra=extra, protocol=protocol)
    said = events([], end)[-2]["delta"]
    whole = message([], end)

    assert (said["stop_reason"], said["stop_sequence"]) == (stop_reason, sequence)
    assert (whole["stop_reason"], whole["stop_sequence"]) == (stop_reason, sequence)


def test_what_else_the_backend_said_survives():
    end = finished("content_filter", extra={"stop_details": {"a": 1}}, protocol=Protocol.ANTHROPIC)
    assert message([], end)["stop_details"] == {"a": 1}
    assert events([], end)[-2]["delta"]["stop_details"] == {"a": 1}
    timed = finished(extra={"timings": {"cache_n": 3}, "choice": {"x": 1}})
    assert message([], timed)["timings"] == {"cache_n": 3}
    assert events([], timed)[-2]["timings"] == {"cache_n": 3}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(prompt_tokens=20, completion_tokens=7), (20, 0, 0, 7)),
        (
            Usage(prompt_tokens=20, completion_tokens=7, cached_tokens=5, cache_creation_tokens=3),
            (12, 3, 5, 7),
        ),
        (Usage(prompt_tokens=2, cached_tokens=5), (0, 0, 5, 0)),
        (Usage(), (0, 0, 0, 0)),
    ],
)
def test_usage(usage, expected):
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    assert encode_usage(usage) == dict(zip(names, expected, strict=True))


def test_counts_of_another_protocol_stay_there():
    usage = Usage(
        prompt_tokens=1, extra={"total_tokens": 9, "prompt_tokens_details": {}, "service_tier": "x"}
    )
    assert encode_usage(usage)["service_tier"] == "x"
    assert encode_usage(usage).keys().isdisjoint({"total_tokens", "prompt_tokens_details"})


def test_a_start_says_what_is_known_of_the_prompt():
    start = events([], usage=Usage(prompt_tokens=9, completion_tokens=1))[0]
    assert start["message"]["usage"]["input_tokens"] == 9


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (Started(id="msg_9", model="served"), Identity("msg_9", "served")),
        (Started(id="chatcmpl-9", model="served"), Identity("msg_1", "served")),
        (Started(), Identity("msg_1", "asked")),
        (None, Identity("msg_1", "asked")),
    ],
)
def test_the_envelope(started, expected):
    assert Identity.of(started, id="msg_1", model="asked") == expected


def test_ids_that_do_not_fit_travel_inside_others():
    call = CallReady(id="functions.f:0", name="f", arguments="{}")
    assert message([call])["content"][0]["id"].startswith("toolu_")


def test_arguments_that_are_no_object_become_one():
    call = CallReady(id="1", name="f", arguments="[1]")
    assert isinstance(message([call])["content"][0]["input"], dict)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (405, "invalid_request_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
def test_error_types(status, kind):
    assert error_type(status) == kind


def test_errors():
    body = encode_error("no", kind="api_error")
    assert json.loads(body) == {"type": "error", "error": {"type": "api_error", "message": "no"}}
    [event] = SSEDecoder().feed(encode_error_event(body))
    assert (event.event, event.data) == ("error", body)


# -- there and back -----------------------------------------------------------------------------------------

_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, _words),
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, _words, _words),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, _words),
    st.builds(
        lambda name, value: {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"a": value}},
        _words,
        _words,
    ),
    st.just(SEARCH),
)


def shown(deltas):
    """The deltas of an answer as an unguarded turn gives them out."""
    outputs, calls = [], {}
    for delta in deltas:
        if isinstance(delta, TextDelta | ReasoningDelta | BlockDelta):
            outputs.append(delta)
        elif isinstance(delta, CallDelta):
            old = calls.get(delta.index)
            call = CallReady(
                id=delta.id or (old.id if old else ""),
                name=delta.name or (old.name if old else ""),
                arguments=(old.arguments if old else "") + delta.arguments,
            )
            if old is None:
                outputs.append(call)
            else:
                outputs[outputs.index(old)] = call
            calls[delta.index] = call
    return outputs


@given(st.lists(_blocks, max_size=5))
def test_an_answer_comes_out_as_it_went_in(content):
    body = {"id": "msg_1", "model": "m", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    deltas = decode_response(json.dumps(body).encode())
    outputs = shown(deltas)

    assert message(outputs)["content"] == content
    decoder = EventDecoder()
    again = [delta for event in events(outputs) for delta in decoder.feed_object(event)]
    assert message(shown(again))["content"] == content
    assert isinstance(decoder.end()[-1], Finish)


def test_a_citation_may_come_before_its_text():
    outputs = [own(SEARCH), own(CITED), TextDelta("It is so.")]
    block = {"type": "text", "text": "It is so.", "citations": [CITED["citation"]]}
    assert message(outputs)["content"] == [SEARCH, block]
    assert accumulated(events(outputs)) == [SEARCH, block]


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_refusal_is_shown_as_text_and_named(reason):
    outputs = [TextDelta("", {"delta": {"refusal": "I can"}}), TextDelta("", {"delta": {"refusal": "not."}})]
    end = finished(reason)
    stop = "refusal" if reason == "stop" else "max_tokens"
    assert message(outputs, end)["content"] == [{"type": "text", "text": "I cannot."}]
    assert accumulated(events(outputs, end)) == [{"type": "text", "text": "I cannot."}]
    assert message(outputs, end)["stop_reason"] == stop
    assert events(outputs, end)[-2]["delta"]["stop_reason"] == stop


@pytest.mark.parametrize("arguments", ["[1]", "", '"x"', "{}", '{"a": 1}'])
def test_arguments_are_the_same_object_streamed_and_whole(arguments):
    call = CallReady(id="toolu_1", name="f", arguments=arguments)
    assert accumulated(events([call])) == message([call])["content"]
