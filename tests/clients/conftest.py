"""Real coding agents, each in an empty home, against a proxy with a scripted model behind it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from clients.agents import program

SECRET = "OSPREY"


@pytest.fixture(scope="session")
def executable() -> Callable[[str], Path]:
    """Finds an agent's executable by name; skips where it is not installed (``make test-clients`` does that)."""
    folder = os.environ.get("FORGE_TEST_CLIENTS")
    if not folder:
        pytest.skip("needs the coding agents: make test-clients")

    def find(name: str) -> Path:
        path = program(Path(folder).resolve(), name)
        if not path.exists():
            pytest.skip(f"{name} could not be installed: make test-clients")
        return path

    return find


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file to read."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text(f"# Lighthouse\n\nThe secret word is {SECRET}.\n", encoding="utf-8")
    return folder
