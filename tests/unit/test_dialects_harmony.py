"""Harmony's channels and recipients."""

import pytest
from note_tools import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '<|channel|>commentary to=functions.note <|constrain|>json<|message|>{"text":"a"}<|call|>',
            [("note", {"text": "a"})],
            id="channel header",
        ),
        pytest.param(
            "<|start|>assistant to=functions.ping<|channel|>commentary<|message|>{}<|call|>",
            [("ping", {})],
            id="role header",
        ),
        pytest.param(
            '<|channel|>analysis to=functions.note code<|message|>{"text":"a"}<|call|>',
            [("note", {"text": "a"})],
            id="analysis channel",
        ),
        pytest.param(
            'analysisHm.assistantcommentary to=functions.note json{"text":"a"}',
            [("note", {"text": "a"})],
            id="tokens stripped",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '<|channel|>analysis<|message|>functions.note {"text":"a"}?<|end|>',
            id="analysis that speaks about a call",
        ),
        pytest.param('<|channel|>commentary to=functions.note<|message|>{"text":"a', id="cut off"),
        pytest.param("<|channel|>commentary to=python<|message|>{}<|call|>", id="other recipient"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []
