import json

import pytest

from forge.wire import openai
from forge.wire.anthropic import ThinkingMeans, as_openai, decode_request

IMAGE = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
SHOWN = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"a": {}}}}


def convert(means=ThinkingMeans.LLAMA, **fields):
    """The body that an OpenAI-shaped backend gets, and what was left out."""
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **fields}
    converted = as_openai(decode_request(json.dumps(body).encode()), means)
    return json.loads(openai.encode_request(converted.request)), set(converted.unsupported)


def messages(*given, **fields):
    return convert(messages=list(given), **fields)[0]["messages"]


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def text(words):
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(user(text("a"), text(""), text("b")), [{"role": "user", "content": "a\nb"}], id="texts"),
        pytest.param(
            user(text("a"), IMAGE),
            [{"role": "user", "content": [{"type": "text", "text": "a"}, SHOWN]}],
            id="image",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    text("Let me look."),
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
                ],
            },
            [
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {
                            "id": "toolu_1",
                            "type": "function",
                            "function": {"name": "f", "arguments": '{"a": 1}'},
                        }
                    ],
                }
            ],
            id="thinking-text-call",
        ),
        pytest.param(
            user(
                {"type": "tool_result", "tool_use_id": "1", "content": "x"},
                {"type": "tool_result", "tool_use_id": "2", "content": [text("y"), text("z")]},
                text("Go on."),
            ),
            [
                {"role": "tool", "tool_call_id": "1", "content": "x"},
                {"role": "tool", "tool_call_id": "2", "content": "y\nz"},
                {"role": "user", "content": "Go on."},
            ],
            id="results-then-text",
        ),
        pytest.param(
            user({"type": "tool_result", "tool_use_id": "1", "content": [text("seen"), IMAGE]}),
            [
                {"role": "tool", "tool_call_id": "1", "content": "seen\n(see the attachment below)"},
                {"role": "user", "content": [SHOWN]},
            ],
            id="image-in-a-result",
        ),
        pytest.param(
            user({"type": "tool_result", "tool_use_id": "1", "content": "no such file", "is_error": True}),
            [{"role": "tool", "tool_call_id": "1", "content": "Error: no such file"}],
            id="error-result",
        ),
        pytest.param(
            user({"type": "tool_result", "tool_use_id": "1", "content": "Error: no", "is_error": True}),
            [{"role": "tool", "tool_call_id": "1", "content": "Error: no"}],
            id="error-result-that-says-so",
        ),
        pytest.param(
            {"role": "system", "content": "note"}, [{"role": "system", "content": "note"}], id="system-turn"
        ),
        pytest.param(
            {"role": "assistant", "content": ""}, [{"role": "assistant", "content": ""}], id="empty"
        ),
    ],
)
def test_messages(given, expected):
    assert messages(given) == expected


def test_the_system_prompt_without_its_changing_line():
    header = "x-anthropic-billing-header: cc_version=2.1.197.a05; cc_entrypoint=cli;"
    blocks = [
        text(header),
        {**text("You are an agent."), "cache_control": {"type": "ephemeral"}},
        text("Rules."),
    ]
    first, lost = convert(system=blocks)
    again, _ = convert(system=[text(header.replace("a05", "b17")), *blocks[1:]])

    assert first["messages"][0] == {"role": "system", "content": "You are an agent.\nRules."}
    assert first == again
    assert lost == {"cache_control"}


def test_a_longer_conversation_only_adds():
    turns = [
        user(text("a"), text("b")),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
        user({"type": "tool_result", "tool_use_id": "1", "content": [IMAGE]}, text("c")),
        {"role": "assistant", "content": "d"},
        {"role": "user", "content": "e"},
    ]
    whole = messages(*turns)
    for count in range(1, len(turns)):
        begun = messages(*turns[:count])
        assert whole[: len(begun)] == begun


def test_a_moved_cache_mark_changes_nothing():
    marked = {**text("a"), "cache_control": {"type": "ephemeral"}}
    assert messages(user(marked)) == messages(user(text("a")))


@pytest.mark.parametrize(
    ("given", "expected", "lost"),
    [
        ({"stop_sequences": ["X"]}, {"stop": ["X"]}, set()),
        ({"temperature": 0.5, "top_p": 0.9, "top_k": 5}, {"temperature": 0.5, "top_p": 0.9, "top_k": 5}, set()),
        ({"metadata": {"user_id": "u"}}, {"user": "u"}, set()),
        ({"metadata": {"user_id": None, "x": 1}}, {}, {"metadata.x"}),
        ({"service_tier": "standard_only"}, {"service_tier": "default"}, set()),
        ({"service_tier": "auto"}, {"service_tier": "auto"}, set()),
        ({"tool_choice": {"type": "any"}}, {"tool_choice": "required"}, set()),
        ({"tool_choice": {"type": "none"}}, {"tool_choice": "none"}, set()),
        (
            {"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True}},
            {
                "tool_choice": {"type": "function", "function": {"name": "f"}},
                "parallel_tool_calls": False,
            },
            set(),
        ),
        ({"n": 2}, {}, {"n"}),
        ({"min_p": 0.1, "seed": 7}, {"min_p": 0.1, "seed": 7}, set()),
        ({"context_management": {"edits": []}, "container": "c"}, {}, {"context_management", "container"}),
        ({"cache_control": {"type": "ephemeral"}}, {}, {"cache_control"}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
            {"chat_template_kwargs": {"enable_thinking": True}, "thinking_budget_tokens": 2048},
            set(),
        ),
        (
            {"thinking": {"type": "disabled"}, "chat_template_kwargs": {"enable_thinking": True, "x": 1}},
            {"chat_template_kwargs": {"enable_thinking": True, "x": 1}},
            set(),
        ),
        (
            {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}},
            {
                "chat_template_kwargs": {"reasoning_effort": "low"},
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
                },
            },
            set(),
        ),
        ({"output_config": {"new": 1}}, {}, {"output_config.new"}),
        ({"output_format": {"type": "xml"}}, {}, {"output_format"}),
    ],
)  # fmt: skip
def test_options(given, expected, lost):
    sent, unsupported = convert(tools=[TOOL], **given)
    known = ("model", "messages", "tools", "max_tokens")

    assert {name: value for name, value in sent.items() if name not in known} == expected
    assert sent["max_tokens"] == 9
    assert unsupported == lost


def test_tools():
    marked = {**TOOL, "name": "g", "cache_control": {"type": "ephemeral"}, "strict": True}
    search = {"type": "web_search_20250305", "name": "web_search"}
    sent, lost = convert(tools=[TOOL, marked, search])

    assert [tool["function"]["name"] for tool in sent["tools"]] == ["f", "g"]
    assert sent["tools"][0] == {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": TOOL["input_schema"]},
    }
    assert lost == {"cache_control", "tools.strict", "tools of type web_search_20250305"}


def test_what_was_thought_in_secret_is_named():
    sent, lost = convert(
        messages=[{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, text("a")]}]
    )
    assert sent["messages"] == [{"role": "assistant", "content": "a"}]
    assert lost == {"redacted_thinking"}
