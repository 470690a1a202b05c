import json

import pytest
from servers import recordings

from forge.clients.ollama_server import ModelCard, read_card, read_loaded


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("show_tools.json", ModelCard(tools=True, thinks=False, context_length=4096, longest_context=32768)),
        ("show_plain.json", ModelCard(tools=False, thinks=False, context_length=4096, longest_context=8192)),
        (
            "show_thinking.json",
            ModelCard(tools=False, thinks=True, context_length=4096, longest_context=8192),
        ),
    ],
)
def test_recorded_cards(name, card):
    assert read_card(json.loads((recordings.FIXTURES / "ollama" / name).read_text())) == card


@pytest.mark.parametrize("given", [None, [], {}, {"capabilities": None, "parameters": 1, "model_info": []}])
def test_a_card_that_says_nothing(given):
    assert read_card(given) == ModelCard()


@pytest.mark.parametrize(("model", "length"), [("qwen2.5-coder:1.5b", 4096), ("nope", None)])
def test_loaded_models(model, length):
    assert (
        read_loaded(json.loads((recordings.FIXTURES / "ollama/ps_loaded.json").read_text()), model) == length
    )
    assert read_loaded({"models": [None, {"name": "m:latest", "context_length": 9}]}, "m") == 9
