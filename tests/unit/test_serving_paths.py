from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from forge.serving.paths import cache_dir


def test_the_override_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))

    assert cache_dir() == tmp_path


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="the XDG convention")
@pytest.mark.parametrize(
    ("xdg", "expected"),
    [
        pytest.param("/var/cache/me", "/var/cache/me/forge", id="set"),
        pytest.param("", "/home/me/.cache/forge", id="empty"),
        pytest.param("relative/cache", "/home/me/.cache/forge", id="relative paths are to be ignored"),
    ],
)
def test_xdg(xdg: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORGE_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)

    assert cache_dir() == Path(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="the password database")
def test_without_a_home_the_variable_to_set_is_named() -> None:
    # A container's user by number: neither HOME nor a line in the password database.
    program = "import os, pwd, forge.errors\nfrom forge.serving.paths import cache_dir\n" + textwrap.dedent("""
        def nobody(number):
            raise KeyError(number)
        pwd.getpwuid = nobody
        try:
            cache_dir()
        except forge.errors.EmbeddedModelError as error:
            print(error.hint)
    """)
    unset = ("HOME", "XDG_CACHE_HOME", "FORGE_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    source = str(Path(__file__).resolve().parents[2] / "src")
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "FORGE_CACHE_DIR" in result.stdout
