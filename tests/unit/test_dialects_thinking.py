"""Think blocks: no source of calls, unless they never close and end with one."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import ReplyScanner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '<think>[ping()]</think>{"name": "note", "arguments": {"text": "a"}}',
            [("note", {"text": "a"})],
            id="draft and call",
        ),
        pytest.param(
            "I might use [ping()] here.\n</think>\n<function=ping></function>",
            [("ping", {})],
            id="lone end",
        ),
        pytest.param(
            "I should not call it.\n</think>\n<function=ping></function>",
            [("ping", {})],
            id="refusal in the thought",
        ),
        pytest.param(
            "<think>\nI need it.\n<tool_call>\n<function=ping></function>\n</tool_call>",
            [("ping", {})],
            id="never closed, call on its own line",
        ),
        pytest.param(
            '<tool_call>{"name": "note", "arguments": {"text": "<think>"}}</tool_call>',
            [("note", {"text": "<think>"})],
            id="tag in a value",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<think><function=ping></function></think>Hi.", id="closed"),
        pytest.param("[THINK]ping[ARGS]{}[/THINK]Hi.", id="brackets"),
        pytest.param("<think><function=ping></function>", id="never closed, draft at once"),
        pytest.param("<think>Draft: <function=ping></function>", id="never closed, draft in a line"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []


def test_a_block_that_a_limit_cut_off_ends_in_a_draft():
    text = "<think>\nI need it.\n<tool_call>\n<function=ping></function>\n</tool_call>"
    for cut, expected in ((False, 1), (True, 0)):
        scanner = ReplyScanner(TOOLS)
        reply = [scanner.feed(text), scanner.finish(cut=cut)]
        assert sum(len(part.calls) for part in reply) == expected
        assert "".join(part.text for part in reply) == ""
