"""Inkling's messages."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import parse_tool_calls

CALL = '<|content_invoke_tool_json|>{"name":"note","args":{"text":"a"}}<|end_message|>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("<|message_model|>note" + CALL, [("note", {"text": "a"})], id="whole message"),
        pytest.param("note" + CALL, [("note", {"text": "a"})], id="role in the prompt"),
        pytest.param(CALL, [("note", {"text": "a"})], id="name in the JSON only"),
        pytest.param(
            '<|message_model|>note<|content_invoke_tool_json|>{"text":"a"}<|end_message|>',
            [("note", {"text": "a"})],
            id="name in the header only",
        ),
        pytest.param(
            "<|message_model|>note<|content_invoke_tool_text|>a<|end_message|>",
            [("note", {"text": "a"})],
            id="text",
        ),
        pytest.param(
            "<|message_model|><|content_thinking|>note" + CALL.replace("<|end_message|>", "") + "<|end_message|>",
            [],
            id="in thinking",
        ),
    ],
)  # fmt: skip
def test_calls(text, expected):
    assert calls(text) == expected


def test_text_is_shown_and_thinking_is_reasoning():
    reply = parse_tool_calls(
        "<|content_thinking|>hm<|end_message|><|message_model|><|content_text|>Yes.<|end_message|>", TOOLS
    )
    assert (reply.reasoning, reply.text) == ("hm", "Yes.")
