import pytest

from forge.clients.contract import ResponseCollector, build_request
from forge.core.calls import TextResponse, ToolCall
from forge.core.events import CallDelta, ReasoningDelta, TextDelta
from forge.core.request import Text, Tool

TOOL = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})


def collected(*deltas, native=True, think=True):
    collector = ResponseCollector([TOOL], native=native, think=think)
    for delta in deltas:
        collector.add(delta)
    return collector.response()


CALL = [CallDelta(index=0, id="1", name="f"), CallDelta(index=0, arguments='{"a":1}')]


@pytest.mark.parametrize(
    ("deltas", "response"),
    [
        pytest.param([], TextResponse(""), id="nothing"),
        pytest.param([TextDelta("a"), TextDelta("b")], TextResponse("ab"), id="text"),
        pytest.param([TextDelta("a\n")], TextResponse("a\n"), id="text is not trimmed"),
        pytest.param([ReasoningDelta("why"), TextDelta("a")], TextResponse("a"), id="reasoning is not text"),
        pytest.param(CALL, [ToolCall("f", {"a": 1})], id="call"),
        pytest.param([ReasoningDelta("why"), *CALL], [ToolCall("f", {"a": 1}, "why")], id="reasoned call"),
        pytest.param([TextDelta("so"), *CALL], [ToolCall("f", {"a": 1}, "so")], id="text before a call"),
        pytest.param(
            [*CALL, CallDelta(index=1, name="f", arguments="{}")],
            [ToolCall("f", {"a": 1}), ToolCall("f", {})],
            id="two calls",
        ),
        pytest.param([CallDelta(index=0, name="f")], [ToolCall("f", {})], id="call without arguments"),
    ],
)
def test_responses(deltas, response):
    assert collected(*deltas) == response


def test_native_text_is_left_for_the_validator_to_rescue():
    text = '{"name": "f", "arguments": {"a": 1}}'

    assert collected(TextDelta(text)) == TextResponse(text)
    assert collected(TextDelta(text), native=False) == [ToolCall("f", {"a": 1})]


def test_later_options_win_and_null_is_unset():
    request = build_request(
        [{"role": "user", "content": "hi"}],
        None,
        (
            {"temperature": 1, "seed": 3, "tools": "no", "system": "no"},
            {"temperature": 0, "seed": None},
            None,
        ),
        None,
        stream=True,
    )

    assert {name: bytes(raw) for name, raw in request.options.items()} == {"temperature": b"0", "seed": b"3"}
    assert request.messages[0].parts == (Text("hi"),)
    assert (request.stream, request.tools) == (True, ())
