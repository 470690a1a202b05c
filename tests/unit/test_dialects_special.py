"""Chat tokens, stray end tags, invented results: what no user should see, and what only looks like it."""

import pytest
from note_tools import TOOLS

from forge.dialects import parse_tool_calls

CALL = "<function=ping></function>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Done.<|im_end|>", "Done.", id="at the end"),
        pytest.param("<|im_start|>assistant\nHi.", "\nHi.", id="its own turn"),
        pytest.param(
            "The token <|im_end|> ends a turn.", "The token <|im_end|> ends a turn.", id="talked about"
        ),
        pytest.param("Hi.<|im_end|>\n<|im_start|>user\nAnd you?", "Hi.\n", id="the user's next turn"),
        pytest.param("Bye.</s>", "Bye.", id="end of sequence"),
        pytest.param("Use </s> in HTML for strike.", "Use </s> in HTML for strike.", id="an element of HTML"),
        pytest.param("\ufeffHi.", "Hi.", id="byte order mark"),
        pytest.param("a </tool_call> b", "a </tool_call> b", id="end tag without a call"),
    ],
)
def test_text(text, shown):
    reply = parse_tool_calls(text, TOOLS)
    assert reply.text == shown
    assert reply.calls == []


@pytest.mark.parametrize(
    "invented",
    [
        "\n<tool_response>\nok\n</tool_response>\nAll is well.",
        "\nObservation: ok\nAll is well.",
        "<|im_end|>\n<|im_start|>user\nthanks",
        "\n[TOOL_RESULTS] ok",
    ],
)
def test_what_follows_an_invented_result_is_dropped(invented):
    reply = parse_tool_calls(CALL + invented + CALL, TOOLS)
    assert [call.tool for call in reply.calls] == ["ping"]
    assert reply.text.strip() == ""


def test_an_observation_without_a_call_is_text():
    text = "Observation: the sky is blue."
    assert parse_tool_calls(text, TOOLS).text == text


def test_a_stray_end_tag_behind_a_call_is_dropped():
    reply = parse_tool_calls(CALL + "\n</tool_call>\nNext.", TOOLS)
    assert reply.text.split() == ["Next."]
