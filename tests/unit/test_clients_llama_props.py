import json
from pathlib import Path

import pytest

from forge.clients.llama_props import Props, capabilities_of, read_props

RECORDED = Path(__file__).parents[1] / "fixtures" / "llama-server"


@pytest.mark.parametrize(
    ("name", "props"),
    [
        (
            "qwen2.5-coder-1.5b",
            Props(parallel_calls=True, context_length=4096, slots=2, model="qwen2.5-coder-1.5b-instruct"),
        ),
        (
            "smollm2-135m-own-template",
            Props(
                tools=False,
                parallel_calls=False,
                context_length=4096,
                slots=2,
                model="smollm2-135m-instruct",
            ),
        ),
    ],
)
def test_recorded_properties(name, props):
    assert read_props(json.loads((RECORDED / name / "props.json").read_bytes())) == props


@pytest.mark.parametrize(
    ("answer", "props"),
    [
        pytest.param(None, None, id="null"),
        pytest.param([], None, id="a list"),
        pytest.param({"object": "list"}, None, id="another server"),
        pytest.param({"chat_template": ""}, Props(), id="an old server"),
        pytest.param({"default_generation_settings": {"n_ctx": 0}}, Props(), id="no context"),
        pytest.param(
            {"default_generation_settings": {"n_ctx": "x"}, "chat_template_caps": []}, Props(), id="odd types"
        ),
        pytest.param(
            {"default_generation_settings": {}, "model_alias": "/m/a.gguf", "model_path": "/m/a.gguf"},
            Props(model="a"),
            id="the path as alias",
        ),
        pytest.param(
            {"default_generation_settings": {}, "model_alias": "org/a", "model_path": "/m/a.gguf"},
            Props(model="org/a"),
            id="an alias with a slash",
        ),
    ],
)
def test_properties_of_every_shape(answer, props):
    assert read_props(answer) == props


@pytest.mark.parametrize(
    ("props", "native", "able"),
    [
        (Props(tools=True), True, True),
        (Props(tools=False), True, False),
        (Props(tools=True), False, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_when_tools_are_native(props, native, able):
    assert capabilities_of(props, native=native).native_tools is able


def test_required_is_not_taken_at_its_word():
    assert capabilities_of(Props(), native=True).tool_choice_modes == {"auto", "none"}
