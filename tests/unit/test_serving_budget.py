"""The arithmetic of context budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.serving.budget import (
    BudgetMode,
    Cost,
    amount,
    explained,
    halved_context,
    ollama_context,
    require_manual_tokens,
)
from forge.serving.launch_spec import LaunchSpec

GIB = 1024**3
FULL, FAST = BudgetMode.FORGE_FULL, BudgetMode.FORGE_FAST


def spec(**fields):
    return LaunchSpec(backend="llamaserver", gguf_path=Path("m.gguf"), **fields)


@pytest.mark.parametrize(
    ("mode", "gib", "tokens"),
    [
        (FULL, None, 4096), (FULL, 23.9, 4096), (FULL, 24.0, 32768), (FULL, 47.9, 32768), (FULL, 48.0, 262144),
        (BudgetMode.BACKEND, 48.0, 262144), (FAST, 48.0, 131072), (FAST, 24.0, 16384), (FAST, None, 2048),
    ],
)  # fmt: skip
def test_tiers_of_ollama(mode, gib, tokens):
    assert ollama_context(mode, gib) == tokens


@pytest.mark.parametrize(
    ("fields", "half"),
    [
        pytest.param({}, 4096, id="one"),
        pytest.param({"n_slots": 1}, 4096, id="one slot"),
        pytest.param({"n_slots": 4}, 16384, id="each of four has its own"),
        pytest.param({"n_slots": 4, "kv_unified": True}, 4096, id="shared"),
    ],
)
def test_half_is_half_of_all_slots_together(fields, half):
    assert halved_context(spec(**fields), 8192) == half


def test_manual_needs_a_number_and_only_manual_takes_one():
    assert require_manual_tokens(BudgetMode.MANUAL, 5) == 5
    assert require_manual_tokens(FULL, None) is None
    for mode, tokens in ((BudgetMode.MANUAL, None), (BudgetMode.MANUAL, 0), (FULL, 5)):
        with pytest.raises(ValueError, match="manual"):
            require_manual_tokens(mode, tokens)


def test_what_fits():
    cost = Cost(place="a GPU", free=10 * GIB, model=2 * GIB, per_token=1024.0)

    assert cost.need(1024) == 2 * GIB + 1024**2
    assert cost.most_tokens() == 8 * 1024**2
    assert Cost(place="a GPU", free=GIB, model=2 * GIB, per_token=1024.0).most_tokens() == 0
    assert Cost(place="a GPU", free=GIB).need(5) is Cost(place="a GPU", free=GIB).most_tokens() is None


def test_a_budget_is_explained_in_one_line():
    slots = spec(n_slots=2)
    cost = Cost(place="2 x H200", free=GIB, model=2 * GIB, per_token=1024.0)

    line = explained(FULL, slots, 8192, cost)

    assert "\n" not in line
    for part in (
        "8,192 tokens in each of 2 slots",
        "m.gguf",
        "forge-full",
        "2.0 GiB",
        "16,384",
        "1.0 KiB",
        "2 x H200",
    ):
        assert part in line
    assert "only 0 tokens fit" in line
    assert "fit" not in explained(FULL, slots, 8192, Cost(place="x", free=GIB))


def test_amounts():
    assert [amount(size) for size in (512, 1536, 3 << 20, 5 << 29)] == [
        "0.5 KiB",
        "1.5 KiB",
        "3.0 MiB",
        "2.5 GiB",
    ]


def test_modes_are_texts():
    assert BudgetMode("forge-fast") is FAST == "forge-fast"
