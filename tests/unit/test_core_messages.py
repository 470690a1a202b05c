"""Messages on the wire."""

import pytest

from forge.core.messages import Message, MessageMeta, MessageRole, MessageType, ToolCallInfo


def message(role="assistant", content="", type_="tool_call", **fields):
    return Message(MessageRole(role), content, MessageMeta(MessageType(type_)), **fields)


@pytest.mark.parametrize(
    ("given", "format_", "expected"),
    [
        pytest.param(
            message("user", "hi", "user_input"), "openai", {"role": "user", "content": "hi"}, id="plain"
        ),
        pytest.param(
            message(tool_calls=[]),
            "openai",
            {"role": "assistant", "content": "", "tool_calls": []},
            id="none",
        ),
        pytest.param(
            message(tool_calls=[ToolCallInfo("f", {"q": "東京"}, "c1")]),
            "openai",
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "f", "arguments": '{"q": "東京"}'}, "type": "function", "id": "c1"}
                ],
            },
            id="openai-call-without-escapes",
        ),
        pytest.param(
            message(tool_calls=[ToolCallInfo("f", {}, "c1")]),
            "ollama",
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
            },
            id="ollama-call",
        ),
        pytest.param(
            message("tool", "r", "tool_result", tool_name="f", tool_call_id="c1"),
            "openai",
            {"role": "tool", "content": "r", "name": "f", "tool_call_id": "c1"},
            id="openai-result",
        ),
        pytest.param(
            message("tool", "r", "tool_result", tool_name="f", tool_call_id="c1"),
            "anything",
            {"role": "tool", "content": "r", "tool_name": "f"},
            id="ollama-result",
        ),
        pytest.param(
            message("tool", "r", "tool_result", tool_call_id="c1"),
            "openai",
            {"role": "tool", "content": "r"},
            id="no-name",
        ),
    ],
)
def test_api_dict(given, format_, expected):
    assert given.to_api_dict(format=format_) == expected


def test_the_types_are_exactly_the_contract():
    assert {t.value for t in MessageType} == {
        "system_prompt", "user_input", "tool_call", "tool_result", "reasoning", "text_response", "step_nudge",
        "prerequisite_nudge", "retry_nudge", "context_warning", "summary",
    }  # fmt: skip
