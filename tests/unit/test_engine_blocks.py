"""Parts of an answer that only the backend's protocol knows, through a guarded turn."""

import json

import pytest

from forge.core.capabilities import Capabilities
from forge.core.events import BlockDelta, CallDelta, CallReady, Finish, Finished, Retrying, Send, TextDelta
from forge.core.request import ChatMessage, Protocol, Request, Text, Tool
from forge.engine import Policy, Turn

TOOL = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
SEARCHED = BlockDelta({"type": "web_search_tool_result", "tool_use_id": "s"}, Protocol.ANTHROPIC)
ASKED = Request(messages=(ChatMessage(role="user", parts=(Text("q"),)),), tools=(TOOL,))


def play(*attempts):
    turn = Turn(ASKED, Policy(), Capabilities())
    waiting = list(attempts)
    outputs = []
    queue = turn.start()
    while queue:
        shown = [output for output in queue if not isinstance(output, Send)]
        outputs += shown
        sends = [output for output in queue if isinstance(output, Send)]
        queue = [output for _ in sends for delta in waiting.pop(0) for output in turn.feed(delta)]
    assert waiting == []
    return outputs


def call(arguments):
    return CallDelta(index=0, id="1", name="f", arguments=json.dumps(arguments))


def test_a_block_leaves_in_its_place():
    outputs = play([TextDelta("Found:"), SEARCHED, TextDelta(" it."), Finish(reason="stop")])
    assert outputs[:-1] == [TextDelta("Found:"), SEARCHED, TextDelta(" it.")]


@pytest.mark.parametrize("reason", ["stop", "pause_turn"])
def test_an_answer_of_blocks_alone_is_not_empty(reason):
    outputs = play([SEARCHED, Finish(reason=reason)])
    assert outputs[0] == SEARCHED
    assert isinstance(outputs[1], Finished)
    assert outputs[1].reason == reason


def test_a_turn_that_pauses_is_not_asked_again():
    [end] = play([Finish(reason="pause_turn")])
    assert (end.reason, len(end.attempts)) == ("pause_turn", 1)


def test_blocks_of_a_rejected_second_attempt_are_not_shown():
    outputs = play(
        [call({"a": "x"}), Finish(reason="tool_calls")],
        [SEARCHED, call({"a": "y"}), Finish(reason="tool_calls")],
        [SEARCHED, call({"a": 1}), Finish(reason="tool_calls")],
    )
    assert [type(output) for output in outputs] == [Retrying, Retrying, BlockDelta, CallReady, Finished]
