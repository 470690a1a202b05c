"""A fault of Forge's own, wherever in a turn it strikes, costs nobody the backend's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from servers.fuse import Fuse, Fused, FusedSchema

from forge.core.capabilities import Capabilities
from forge.core.events import (
    GUARD_FAILED,
    BlockDelta,
    CallDelta,
    CallReady,
    Delta,
    Finish,
    Finished,
    Output,
    ReasoningDelta,
    Send,
    TextDelta,
    Usage,
)
from forge.core.request import ChatMessage, Protocol, Request, Text, Tool
from forge.engine import Policy, Turn
from forge.errors import MalformedOutputError, StreamError

WRITTEN = '<tool_call>{"name": "look_up", "arguments": {"word": "a"}}</tool_call>'
THOUGHT = "<think>hm</think>"


def fused_request(fuse: Fuse, *, stream: bool) -> Request:
    name = Fused("look_up")
    schema = FusedSchema(type="object", properties={"word": {"type": "string"}}, required=["word"])
    name.fuse = schema.fuse = fuse
    message = ChatMessage(role="user", parts=(Text("go"),))
    return Request(messages=(message,), tools=(Tool(name=name, parameters=schema),), stream=stream)


def answer(text: str, calls: Sequence[tuple[str, str]], *, stream: bool) -> list[Delta]:
    """A backend's answer, in small pieces or whole."""
    size = 4 if stream else len(text) or 1
    deltas: list[Delta] = [TextDelta(text[pos : pos + size]) for pos in range(0, len(text), size)]
    for index, (name, arguments) in enumerate(calls):
        deltas.append(CallDelta(index=index, id=f"id{index}", name=name, arguments=arguments))
    body = None if stream else b'{"the": "answer"}'
    return [
        *deltas,
        Usage(prompt_tokens=10, completion_tokens=1),
        Finish(reason="tool_calls" if calls else "stop", body=body),
    ]


GOOD = ("look_up", '{"word": "b"}')
BAD = ("look_up", '{"letter": 1}')
UNKNOWN = ("look_out", "{}")
ANSWERS = [
    pytest.param("It is so.", [], id="text"),
    pytest.param(f"{THOUGHT}It is so.", [], id="thinking"),
    pytest.param(f"I look. {WRITTEN} Then more.", [], id="written"),
    pytest.param(f"{THOUGHT}Both: {WRITTEN} and {WRITTEN} and so on.", [], id="written-twice"),
    pytest.param("I look. <tool_call>{broken", [], id="broken"),
    pytest.param("", [GOOD], id="good"),
    pytest.param("I look.", [GOOD, BAD], id="mixed"),
    pytest.param("I look.", [UNKNOWN], id="unknown"),
]


class Played:
    """A turn run to its end. The second and every later attempt makes a good call."""

    def __init__(self, request: Request, first: list[Delta], policy: Policy) -> None:
        turn = Turn(request, policy, Capabilities(constrains=False))
        self.sent = 0
        self.outputs: list[Output] = []
        queue = turn.start()
        while queue:
            following: list[Output] = []
            for output in queue:
                if not isinstance(output, Send):
                    self.outputs.append(output)
                    continue
                self.sent += 1
                deltas = first if self.sent == 1 else answer("", [GOOD], stream=request.stream)
                for delta in deltas:
                    following += turn.feed(delta)
            queue = following
        assert turn.done

    @property
    def text(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, TextDelta))

    @property
    def thought(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, ReasoningDelta))

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(str(o.name), o.arguments) for o in self.outputs if isinstance(o, CallReady)]

    @property
    def end(self) -> Finished:
        last = self.outputs[-1]
        assert isinstance(last, Finished)
        return last


def strikes(text: str, calls: Sequence[tuple[str, str]], *, stream: bool) -> Iterator[tuple[Fuse, Played]]:
    """The same turn with a fault at the first look at its tool, at the second, and so on until none strikes."""
    for limit in range(1, 500):
        fuse = Fuse(limit)
        request = fused_request(fuse, stream=stream)
        played = Played(request, answer(text, calls, stream=stream), Policy(max_retries=1))
        if not fuse.struck:
            return
        yield fuse, played
    raise AssertionError("the fuse never lasted a turn")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("text", "calls"), ANSWERS)
def test_a_fault_passes_the_backends_answer_through_unchanged(
    text: str, calls: list[tuple[str, str]], stream: bool
) -> None:
    passed_through = 0
    for _, played in strikes(text, calls, stream=stream):
        verdicts = [attempt.verdict for attempt in played.end.attempts]
        if verdicts != [GUARD_FAILED]:
            continue  # it struck in the second attempt, or where nothing depended on it
        passed_through += 1
        assert played.sent == 1
        assert played.calls == calls
        # Between tags that were read before the fault it is thinking; the tags are then nowhere.
        shown = played.text if played.text == text else f"<think>{played.thought}</think>{played.text}"
        assert shown == text
        assert played.end.reason == ("tool_calls" if calls else "stop")
        assert played.end.usage == Usage(prompt_tokens=10, completion_tokens=1)
        assert (played.end.body is None) == stream
    assert passed_through


def test_faults_strike_every_guard() -> None:
    """Otherwise the test above would say less than it seems to."""
    struck: set[str] = set()
    for case in ANSWERS:
        text, calls = case.values
        struck |= {name for fuse, _ in strikes(text, calls, stream=True) for name in fuse.struck}

    assert struck >= {"plan", "answer", "toolbox", "judge", "call_check", "wording", "turn"}


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_fault_in_a_correction_passes_the_calls_on(fails_at: int) -> None:
    """Ids are made for calls that came without one: when they are corrected, and when they are given out."""
    made: list[str] = []

    def new_id() -> str:
        made.append("x")
        if len(made) == fails_at:
            raise RuntimeError("boom")
        return f"new{len(made)}"

    tool = Tool(name="look_up", parameters={"type": "object", "required": ["word"]})
    turn = Turn(Request(messages=(), tools=(tool,)), Policy(max_retries=1), new_id=new_id)
    turn.start()
    outputs = turn.feed(TextDelta("I look."))
    outputs += turn.feed(CallDelta(index=0, name="look_up", arguments="{}"))
    outputs += turn.feed(CallDelta(index=1, name="look_up", arguments="{}"))
    outputs += turn.feed(Finish(reason="tool_calls"))

    assert [(o.name, o.arguments) for o in outputs if isinstance(o, CallReady)] == [("look_up", "{}")] * 2
    assert "".join(o.text for o in outputs if isinstance(o, TextDelta)) == "I look."
    assert isinstance(outputs[-1], Finished)
    assert outputs[-1].attempts[0].verdict == GUARD_FAILED


def test_the_tool_that_forge_offered_stays_its_own_matter_after_a_fault() -> None:
    fuse = Fuse(10**9)
    request = fused_request(fuse, stream=True)
    turn = Turn(request, Policy(text_policy="respond"))
    turn.start()
    outputs = turn.feed(CallDelta(index=0, id="a", name="respond", arguments='{"message": "It is'))
    fuse.limit = fuse.uses + 1
    outputs += turn.feed(CallDelta(index=0, arguments=' so."}'))
    outputs += turn.feed(CallDelta(index=1, id="b", name="look_up", arguments='{"letter": 1}'))
    outputs += turn.feed(Finish(reason="tool_calls"))

    assert fuse.struck
    assert "".join(o.text for o in outputs if isinstance(o, TextDelta)) == "It is so."
    assert [o.name for o in outputs if isinstance(o, CallReady)] == ["look_up"]


def test_after_a_fault_in_a_constrained_attempt_the_earlier_answer_is_shown() -> None:
    fuse = Fuse(10**9)
    turn = Turn(fused_request(fuse, stream=True), Policy(max_retries=1), Capabilities(constrains=True))
    turn.start()
    turn.feed(TextDelta("I look. <tool_call>{broken"))
    second = turn.feed(Finish(reason="stop"))[-1]
    assert isinstance(second, Send)
    assert second.request.constraint is not None
    outputs = turn.feed(TextDelta('{"name": "look_up", "arguments": {"word": "a"}}'))
    fuse.limit = fuse.uses + 1
    outputs += turn.feed(Finish(reason="stop"))

    assert fuse.struck
    shown = "".join(o.text for o in outputs if isinstance(o, TextDelta))
    assert "{broken" in shown
    assert "arguments" not in shown
    assert isinstance(outputs[-1], Finished)
    assert outputs[-1].attempts[-1].verdict == GUARD_FAILED


def test_a_fault_while_a_failure_is_judged_leaves_the_backends_own_error() -> None:
    fuse = Fuse(10**9)
    turn = Turn(fused_request(fuse, stream=True), Policy(max_retries=1))
    turn.start()
    fuse.limit = fuse.uses + 1
    error = MalformedOutputError(500, json.dumps({"error": "cannot parse"}))

    with pytest.raises(MalformedOutputError) as caught:
        turn.fail(error)

    assert fuse.struck
    assert caught.value is error


def test_a_stream_that_breaks_after_a_fault_is_the_backends_failure() -> None:
    fuse = Fuse(10**9)
    turn = Turn(fused_request(fuse, stream=True))
    turn.start()
    fuse.limit = fuse.uses + 1
    assert turn.feed(TextDelta("Hello <tool_call>")) == [TextDelta("Hello <tool_call>")]

    with pytest.raises(StreamError):
        turn.fail(StreamError("gone"))


def test_a_fault_loses_no_part_that_only_the_backends_protocol_knows() -> None:
    searched = BlockDelta({"type": "web_search_tool_result", "tool_use_id": "s"}, Protocol.ANTHROPIC)
    deltas = [TextDelta("Found <"), searched, TextDelta("it."), Finish(reason="stop")]
    struck = 0
    for limit in range(1, 100):
        fuse = Fuse(limit)
        played = Played(fused_request(fuse, stream=True), deltas, Policy())
        assert played.text == "Found <it."
        assert [output for output in played.outputs if isinstance(output, BlockDelta)] == [searched]
        if not fuse.struck:
            break
        struck += 1
    assert struck
