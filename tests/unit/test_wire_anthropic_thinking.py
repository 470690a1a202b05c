import pytest

from forge.wire.anthropic_thinking import ThinkingMeans, Wish, thinking_fields, wish_of

ENABLED = {"type": "enabled", "budget_tokens": 4096}
LLAMA, TEMPLATE, EFFORT, ASKED = (
    ThinkingMeans.LLAMA,
    ThinkingMeans.TEMPLATE,
    ThinkingMeans.EFFORT,
    ThinkingMeans.ASKED_EFFORT,
)
ON = {"chat_template_kwargs": {"enable_thinking": True}}
OFF = {"chat_template_kwargs": {"enable_thinking": False}}


@pytest.mark.parametrize(
    ("thinking", "effort", "means", "fields", "lost"),
    [
        pytest.param(ENABLED, None, LLAMA, {**ON, "thinking_budget_tokens": 4096}, (), id="llama-budget"),
        pytest.param(ENABLED, None, TEMPLATE, ON, ("thinking.budget_tokens",), id="vllm-budget"),
        pytest.param(ENABLED, None, EFFORT, {"reasoning_effort": "medium"}, (), id="ollama-budget"),
        pytest.param(ENABLED, None, ASKED, {"reasoning_effort": "medium"}, (), id="openai-budget"),
        pytest.param({"type": "disabled"}, None, LLAMA, OFF, (), id="llama-off"),
        pytest.param({"type": "disabled"}, None, TEMPLATE, OFF, (), id="vllm-off"),
        pytest.param({"type": "disabled"}, None, EFFORT, {"reasoning_effort": "none"}, (), id="ollama-off"),
        pytest.param({"type": "disabled"}, None, ASKED, {}, (), id="openai-off"),
        pytest.param({"type": "adaptive"}, None, LLAMA, {}, (), id="llama-adaptive"),
        pytest.param({"type": "adaptive"}, None, EFFORT, {}, (), id="ollama-adaptive"),
        pytest.param(
            {"type": "adaptive"},
            "max",
            LLAMA,
            {"chat_template_kwargs": {"reasoning_effort": "high"}},
            (),
            id="llama-effort",
        ),
        pytest.param(
            {"type": "adaptive"}, "low", EFFORT, {"reasoning_effort": "low"}, (), id="ollama-effort"
        ),
        pytest.param({"type": "adaptive"}, "high", ASKED, {}, ("output_config.effort",), id="openai-effort"),
        pytest.param(ENABLED, "high", ASKED, {"reasoning_effort": "high"}, (), id="effort-over-budget"),
        pytest.param(None, None, LLAMA, {}, (), id="nothing"),
    ],
)
def test_what_is_said_of_thinking(thinking, effort, means, fields, lost):
    wish = wish_of(thinking, {"effort": effort} if effort else None)
    assert thinking_fields(wish, means) == (fields, lost)


@pytest.mark.parametrize(
    ("budget", "level"), [(1024, "low"), (2048, "low"), (8192, "medium"), (31999, "high"), (None, "medium")]
)
def test_a_budget_as_an_effort(budget, level):
    fields, _ = thinking_fields(Wish(mode="enabled", budget=budget), EFFORT)
    assert fields == {"reasoning_effort": level}


@pytest.mark.parametrize("odd", [{"type": 7}, {"type": "enabled", "budget_tokens": "x"}, [], "on", None])
def test_what_has_another_form_says_nothing_more(odd):
    assert wish_of(odd, odd).budget is None
