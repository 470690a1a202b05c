import json

import pytest

from forge.core.events import BlockDelta, CallDelta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.core.request import Protocol
from forge.errors import BackendError, MalformedOutputError, StreamError
from forge.wire.anthropic import EventDecoder, decode_response


def feed(*events):
    decoder = EventDecoder()
    deltas = [delta for event in events for delta in decoder.feed(json.dumps(event).encode())]
    return deltas + decoder.end()


def start(**usage):
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}


def block(index, kind, **fields):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def piece(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def end(reason="end_turn", sequence=None, **usage):
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def test_a_whole_stream():
    deltas = feed(
        start(input_tokens=10, cache_read_input_tokens=4, cache_creation_input_tokens=2, output_tokens=1),
        {"type": "ping"},
        block(0, "thinking", thinking=""),
        piece(0, "thinking_delta", thinking="hm"),
        piece(0, "signature_delta", signature="s"),
        block(1, "text", text=""),
        piece(1, "text_delta", text="so"),
        {"type": "content_block_stop", "index": 1},
        block(2, "tool_use", id="t1", name="f", input={}),
        piece(2, "input_json_delta", partial_json=""),
        piece(2, "input_json_delta", partial_json='{"a":'),
        piece(2, "input_json_delta", partial_json="1}"),
        {"type": "content_block_stop", "index": 2},
        *end("tool_use", output_tokens=7, service_tier="standard"),
    )

    prompt = Usage(prompt_tokens=16, completion_tokens=1, cached_tokens=4, cache_creation_tokens=2)
    assert deltas == [
        Started(id="msg_1", model="m", usage=prompt),
        ReasoningDelta("hm"),
        ReasoningDelta("", signature="s"),
        TextDelta("so"),
        CallDelta(index=0, id="t1", name="f"),
        CallDelta(index=0, arguments='{"a":'),
        CallDelta(index=0, arguments="1}"),
        Usage(
            prompt_tokens=16,
            completion_tokens=7,
            cached_tokens=4,
            cache_creation_tokens=2,
            extra={"service_tier": "standard"},
        ),
        Finish(reason="tool_calls", protocol=Protocol.ANTHROPIC),
    ]


def test_blocks_of_thinking_keep_what_only_their_writer_can_read():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    unseen = {"type": "thinking", "thinking": "", "signature": "t"}
    unsigned = {"type": "thinking", "thinking": "so", "signature": ""}
    redacted = {"type": "redacted_thinking", "data": "x"}
    body = {"content": [thought, redacted, unseen, unsigned], "stop_reason": "end_turn"}

    assert [
        delta for delta in decode_response(json.dumps(body).encode()) if isinstance(delta, ReasoningDelta)
    ] == [
        ReasoningDelta("hm", signature="s"),
        ReasoningDelta("", redacted="x"),
        ReasoningDelta("", signature="t"),
        ReasoningDelta("so"),
    ]


@pytest.mark.parametrize("stop", [True, False], ids=["ended", "left open"])
def test_an_input_given_at_once(stop):
    ending = [{"type": "content_block_stop", "index": 0}] if stop else []
    deltas = feed(start(), block(0, "tool_use", id="t", name="f", input={"a": 1}), *ending, *end("tool_use"))

    assert "".join(d.arguments for d in deltas if isinstance(d, CallDelta)) == '{"a":1}'


def test_an_empty_input_is_an_object():
    deltas = feed(start(), block(0, "tool_use", id="t", name="f", input={}), *end("tool_use"))

    assert "".join(d.arguments for d in deltas if isinstance(d, CallDelta)) == "{}"


@pytest.mark.parametrize(
    ("given", "reason", "extra"),
    [
        ("end_turn", "stop", {}),
        ("tool_use", "tool_calls", {}),
        ("max_tokens", "length", {}),
        ("stop_sequence", "stop", {"stop_reason": "stop_sequence"}),
        ("refusal", "content_filter", {"stop_reason": "refusal"}),
        ("pause_turn", "pause_turn", {"stop_reason": "pause_turn"}),
        (None, "stop", {}),
    ],
)
def test_stop_reasons(given, reason, extra):
    assert feed(start(), *end(given))[-1] == Finish(reason=reason, extra=extra, protocol=Protocol.ANTHROPIC)


def test_what_else_is_said_of_the_end_survives():
    details = {"category": "c", "explanation": None}
    delta = {"stop_reason": "refusal", "stop_details": details, "container": None}
    last = feed(start(), {"type": "message_delta", "delta": delta}, {"type": "message_stop"})[-1]

    assert last.extra == {"stop_reason": "refusal", "stop_details": details}


def test_the_stop_sequence_survives():
    assert feed(start(), *end("stop_sequence", "END"))[-1].extra["stop_sequence"] == "END"


@pytest.mark.parametrize(
    ("event", "status", "words"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529, "busy"),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, 429, "slow"),
        ({"type": "error", "error": {"type": "odd", "message": "odd"}}, 500, "odd"),
        ({"code": 500, "message": "engine", "type": "server_error"}, 500, "engine"),
    ],
)
def test_error_events(event, status, words):
    with pytest.raises(BackendError, match=words) as caught:
        feed(start(), event)
    assert caught.value.status_code == status


def test_unreadable_output_is_told_apart():
    event = {
        "code": 500,
        "message": "The model produced output that does not match the expected x",
        "type": "e",
    }
    with pytest.raises(MalformedOutputError):
        feed(event)


def test_a_stream_without_its_end():
    with pytest.raises(StreamError):
        feed(start(), end()[0])


def test_a_whole_answer_reads_like_its_stream():
    answer = {
        "id": "msg_1",
        "model": "m",
        "content": [
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            "odd",
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    body = json.dumps(answer).encode()
    deltas = decode_response(body)

    usage = Usage(prompt_tokens=3, completion_tokens=2)
    assert deltas == [
        Started(id="msg_1", model="m", usage=usage),
        TextDelta("so"),
        CallDelta(index=0, id="t", name="f"),
        CallDelta(index=0, arguments='{"a":1}'),
        usage,
        Finish(reason="tool_calls", body=body, protocol=Protocol.ANTHROPIC),
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 502),
        (b'{"ok":true}', 502),
        (b'{"type":"error","error":{"type":"not_found_error","message":"m"}}', 404),
    ],
)
def test_what_is_no_answer(body, status):
    with pytest.raises(BackendError) as caught:
        decode_response(body)
    assert caught.value.status_code == status


def other(value):
    return BlockDelta(value, Protocol.ANTHROPIC)


def test_blocks_of_the_servers_own_tools_come_whole():
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "https://x"}]}
    deltas = feed(
        start(),
        block(0, "server_tool_use", id="s", name="web_search", input={}),
        piece(0, "input_json_delta", partial_json='{"query": '),
        piece(0, "input_json_delta", partial_json='"q"}'),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": result},
        {"type": "content_block_stop", "index": 1},
        *end("pause_turn"),
    )

    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    assert [delta for delta in deltas if isinstance(delta, BlockDelta)] == [other(use), other(result)]


def test_citations_stay_with_their_text():
    cited = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    streamed = feed(
        start(),
        block(0, "text", text=""),
        piece(0, "text_delta", text="a"),
        {"type": "content_block_delta", "index": 0, "delta": cited},
        {"type": "content_block_stop", "index": 0},
        block(1, "text", text=""),
        piece(1, "text_delta", text="b"),
        *end(),
    )
    texts = [
        {"type": "text", "text": "a", "citations": [cited["citation"]]},
        {"type": "text", "text": "b", "citations": None},
    ]
    whole = decode_response(json.dumps({"content": texts, "stop_reason": "end_turn"}).encode())

    for deltas in (streamed, whole):
        assert [delta for delta in deltas if isinstance(delta, BlockDelta | TextDelta)] == [
            TextDelta("a"),
            other(cited),
            other({"type": "content_block_stop"}),
            TextDelta("b"),
        ]
