"""The command line, run as a user runs it, with an empty cache folder and no package index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from forge.embedded.cli import cli
from forge.embedded.models import DEFAULT_MODEL, MODELS

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "FORGE_CACHE_DIR": str(tmp_path),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "forge.embedded", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_the_list_has_every_model(environment: dict[str, str]) -> None:
    result = run(environment, "list")

    assert result.returncode == 0
    assert all(name in result.stdout for name in MODELS)
    assert "installed" not in result.stdout


@pytest.mark.parametrize("arguments", [["path"], ["install"], ["serve", "--port", "0"]], ids=lambda a: a[0])
def test_a_missing_model_is_one_line(environment: dict[str, str], arguments: list[str]) -> None:
    result = run(environment, *arguments)

    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.returncode == 1
    assert result.stdout == ""
    assert len(errors) == 1
    assert "Traceback" not in result.stderr


def test_the_path_of_an_installed_model(environment: dict[str, str], tmp_path: Path) -> None:
    model = MODELS[DEFAULT_MODEL]
    path = tmp_path / "models" / model.file_name
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(model.size)

    assert run(environment, "path").stdout.strip() == str(path)
    assert run(environment, "remove").returncode == 0
    assert not path.exists()


@pytest.mark.parametrize(
    "arguments",
    [["install", "--model", "gpt-17"], ["bogus"], ["serve", "--port", "70000"]],
    ids=lambda a: a[0],
)
def test_wrong_usage_is_exit_code_2(environment: dict[str, str], arguments: list[str]) -> None:
    assert run(environment, *arguments).returncode == 2


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_shows_an_example_as_it_is_typed(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"]).output

    lines = [line.split() for line in shown.splitlines() if f"forge.embedded {name}" in line]
    assert any(line[0] in ("python", "llama-server") for line in lines)
    assert "\\b" not in shown


def test_a_folder_that_cannot_be_used_is_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder belongs")

    for command in ("remove", "install"):
        result = run(environment, command)
        assert result.returncode == 1
        assert result.stderr.startswith("error: ")
        assert "Traceback" not in result.stderr
