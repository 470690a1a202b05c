"""Where Ollama is, in the words of its own variable."""

from __future__ import annotations

import pytest

from forge.serving.ollama import configured_root


@pytest.mark.parametrize(
    ("said", "root"),
    [
        pytest.param(None, "http://localhost:11434", id="unset"),
        pytest.param(" ", "http://localhost:11434", id="blank"),
        pytest.param("far", "http://far:11434", id="host"),
        pytest.param("10.0.0.2:1234", "http://10.0.0.2:1234", id="host and port"),
        pytest.param("0.0.0.0", "http://127.0.0.1:11434", id="everywhere"),
        pytest.param("https://far.example", "https://far.example", id="URL"),
        pytest.param("[::1]:99", "http://[::1]:99", id="IPv6"),
    ],
)
def test_configured_root(monkeypatch: pytest.MonkeyPatch, said: str | None, root: str) -> None:
    if said is None:
        monkeypatch.delenv("OLLAMA_HOST", raising=False)
    else:
        monkeypatch.setenv("OLLAMA_HOST", said)

    assert configured_root().rstrip("/") == root
