import pytest

from forge.clients.sampling_defaults import RECOMMENDED_SAMPLING, recommended_sampling

FIELDS = {
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repeat_penalty",
    "presence_penalty",
    "chat_template_kwargs",
}


def test_the_table_is_whole_and_speaks_of_known_fields():
    assert len(RECOMMENDED_SAMPLING) == 89
    assert all(set(values) <= FIELDS for values in RECOMMENDED_SAMPLING.values())


@pytest.mark.parametrize(
    ("model", "temperature"),
    [
        ("qwen3:8b-q4_K_M", 0.6),
        ("Qwen3-8B-Q4_K_M", 0.6),
        ("qwen3-8b-q5_k_m", 0.6),
        ("Qwen3-8B-BF16", 0.6),
        ("gemma-4-26B-A4B-it-UD-Q4_K_M", 1.0),
        ("gemma-4-26b-a4b-it-q6_K", 1.0),
        ("Mistral-Nemo-Instruct-2407.Q8_0", 0.3),
        ("granite4.1:8b-q4_K_M", 0.0),
    ],
)
def test_names_are_found_whatever_their_case_and_quantisation(model, temperature):
    assert recommended_sampling(model)["temperature"] == temperature


@pytest.mark.parametrize(
    "model", ["", "Qwen3-8", "Llama-3.1-8B-Instruct-Q4_K_M", "phi-4", "SmolLM2-135M-Instruct.Q4_1"]
)
def test_nothing_is_made_up(model):
    assert recommended_sampling(model) is None


def test_two_quantisations_of_one_model_agree():
    for model, values in RECOMMENDED_SAMPLING.items():
        assert recommended_sampling(model.lower()) == values


def test_the_values_are_the_callers_own():
    recommended_sampling("gpt-oss-120b-Q4_K_M")["chat_template_kwargs"]["reasoning_effort"] = "changed"

    assert recommended_sampling("gpt-oss-120b-Q4_K_M")["chat_template_kwargs"] == {
        "reasoning_effort": "medium"
    }
