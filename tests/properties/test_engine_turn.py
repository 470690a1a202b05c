"""Whatever a model writes and however it is split, the client sees the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forge.core.events import CallReady, Finish, Finished, Output, Send, TextDelta
from forge.core.request import ChatMessage, Request, Text, Tool
from forge.engine import Policy, Turn

TOOL = Tool(
    name="read_file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
PIECES = st.sampled_from([
    "Hello. ", "Let me read it:", "<think>", "</think>", "<tool_call>", "</tool_call>", "```json\n", "\n```",
    '{"name": "read_file", "arguments": {"path": "a.txt"}}', '{"name": "nope", "arguments": {}}', '{"path": ',
    "[TOOL_CALLS]", "<function=read_file>", "<parameter=path>\nx\n</parameter>", "</function>", "\n", "{", "}", "é😀",
])  # fmt: skip
REQUEST = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), tools=(TOOL,))


def visible(texts: list[str], sizes: list[int]) -> tuple[str, list[tuple[str, str]], str, int]:
    """Text, calls, finish reason and number of attempts of a turn whose attempts say ``texts`` in turn."""
    turn = Turn(REQUEST, Policy(max_retries=2, constrain=False))
    queue: list[Output] = turn.start()
    text, calls, reason, attempts = "", [], "", 0
    while queue:
        following: list[Output] = []
        for output in queue:
            if isinstance(output, Send):
                written = texts[attempts % len(texts)]
                attempts += 1
                pos = 0
                for size in [*sizes, len(written)]:
                    following += turn.feed(TextDelta(written[pos : pos + size]))
                    pos += size
                following += turn.feed(Finish(reason="stop"))
            elif isinstance(output, TextDelta):
                text += output.text
            elif isinstance(output, CallReady):
                calls.append((output.name, output.arguments))
            elif isinstance(output, Finished):
                reason = output.reason
        queue = following
    assert turn.done
    return text, calls, reason, attempts


@given(
    st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3),
    st.lists(st.integers(1, 9), max_size=40),
)
def test_the_split_changes_nothing(texts: list[str], sizes: list[int]) -> None:
    assert visible(texts, sizes) == visible(texts, [])


@given(st.text(max_size=300), st.lists(st.integers(1, 9), max_size=40))
def test_any_text_ends_the_turn(text: str, sizes: list[int]) -> None:
    """Never worse than no Forge: text that is no call reaches the client, whatever it is."""
    shown, calls, reason, attempts = visible([text], sizes)

    assert reason in ("stop", "tool_calls")
    assert attempts <= 3
    if attempts == 1 and not calls and "think" not in text.lower():
        assert shown == text
