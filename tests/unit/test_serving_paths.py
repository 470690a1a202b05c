from __future__ import annotations

import sys
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
