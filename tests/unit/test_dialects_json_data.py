"""JSON that is no call: shown as it comes, whatever it holds."""

import pytest

from forge.dialects import ReplyScanner, parse_tool_calls

TOOLS = [{"name": "shell", "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}}]
CALL = '{"name": "shell", "arguments": {"cmd": "ls"}}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"history": [{CALL}]}}',
        f'{{\n  "history": [\n    {CALL}\n  ]\n}}',
        f'{{"ok": true, "n": -1.5e3, "last": {CALL}}}',
        f'["x", {CALL}]',
        f"[[1, 2], [{CALL}]]",
        f'x = {{"history": [{CALL}]}}',
        f'{{"history": [{CALL}',
        f'{{"text": "a \\" b", "call":\n{CALL}, "',
    ],
)
def test_nothing_inside_of_data_is_a_call(text):
    for size in range(len(text) + 1):
        reply = parse_tool_calls(text[:size], TOOLS)
        assert reply.calls == []
        assert reply.text == text[:size]


@pytest.mark.parametrize("key", ["thinking", "rationale", "reasoning"])
def test_a_call_may_begin_with_why_it_is_made(key):
    reply = parse_tool_calls(f'{{"{key}": "why", "tool": "shell", "args": {{"cmd": "ls"}}}}', TOOLS)
    assert [call.args for call in reply.calls] == [{"cmd": "ls"}]


def test_data_is_shown_as_it_comes():
    scanner = ReplyScanner(TOOLS)
    shown = [
        scanner.feed(piece).text for piece in ('{"rows": [', '{"id": 1, "na', 'me": "x"}, ', "tr", "ue]}")
    ]
    assert shown[1:] == ['{"id": 1, "na', 'me": "x"}, ', "", "true]}"]


@pytest.mark.parametrize(
    "broken",
    ['{"a": 1 oops', '{"a": "never closed\n', '{"a": [1, 2', '{"a": tru', "[[x", '{"a": 1}}} '],
    ids=["word", "string", "open", "literal", "list", "closed-twice"],
)
def test_what_is_no_json_hides_no_call_behind_it(broken):
    text = f"{broken}\n\n<tool_call>{CALL}</tool_call>"
    reply = parse_tool_calls(text, TOOLS)
    assert [call.args for call in reply.calls] == [{"cmd": "ls"}]
    assert reply.text.startswith(broken.rstrip())
