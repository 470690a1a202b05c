import logging

import pytest

from forge.clients import sampling
from forge.clients.sampling import chosen_sampling
from forge.errors import UnsupportedModelError


def test_given_values_win_over_recommended_ones():
    chosen = chosen_sampling("Qwen3-8B-Q4_K_M", {"top_k": 7, "top_p": None}, recommended=True)

    assert chosen == {"min_p": 0.0, "temperature": 0.6, "top_k": 7, "top_p": 0.95}


def test_nothing_is_recommended_unasked():
    assert chosen_sampling("Qwen3-8B-Q4_K_M", {"seed": 0, "top_k": None}, recommended=False) == {"seed": 0}


@pytest.mark.parametrize("name", ["qwen3-8b-q6_k", "QWEN3-8B-Q4_K_M", "Qwen3-8B"])
def test_case_and_quantisation_do_not_matter(name):
    assert chosen_sampling(name, {}, recommended=True)["temperature"] == 0.6


def test_an_unknown_model():
    with pytest.raises(UnsupportedModelError):
        chosen_sampling("nobody-knows", {}, recommended=True)


def test_the_hint_comes_once(caplog):
    sampling._hinted.discard("Qwen3-14B-Q4_K_M")
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            chosen_sampling("Qwen3-14B-Q4_K_M", {}, recommended=False)

    assert sum("Qwen3-14B-Q4_K_M" in record.message for record in caplog.records) == 1
