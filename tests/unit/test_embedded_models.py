from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from forge.embedded.models import DEFAULT_MODEL, MODELS, RUNTIME_REQUIREMENT, EmbeddedModel

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())


def test_the_default_is_one_of_them() -> None:
    assert DEFAULT_MODEL in MODELS


def test_the_runtime_is_pinned_once() -> None:
    assert PROJECT["project"]["optional-dependencies"]["embedded"] == [RUNTIME_REQUIREMENT]


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_the_pieces_add_up(model: EmbeddedModel) -> None:
    assert sum(part.size for part in model.parts) == model.size
    assert len({part.sha256 for part in model.parts}) == len(model.parts)


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_everything_is_pinned(model: EmbeddedModel) -> None:
    digests = [
        model.sha256,
        *(part.sha256 for part in model.parts),
        *(part.wheel_sha256 for part in model.parts),
    ]

    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", part.requirement) for part in model.parts)
