"""The README's Python blocks, as a reader would run them, against the embedded server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from forge.embedded.launch import EmbeddedServer

pytestmark = [pytest.mark.anyio, pytest.mark.integration]

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
PLACEHOLDER = 'gguf_path="path/to/model.gguf"'


def run(source: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout,
        check=False,
    )


def block(marker: str) -> str:
    found = [text for text in BLOCKS if marker in text]
    assert len(found) == 1, f"{len(found)} blocks of the README have {marker!r}"
    return found[0]


def at(server: EmbeddedServer, source: str, model: str) -> str:
    """The block with the reader's own model in place of the placeholder, and our port in place of 8080."""
    assert PLACEHOLDER in source
    return source.replace(PLACEHOLDER, f'gguf_path="{model}", base_url="{server.base_url}/v1"')


@pytest.mark.timeout(400)
async def test_the_quick_start_runs(embedded_server: EmbeddedServer) -> None:
    source = at(embedded_server, block("recommended_sampling=True"), "Qwen3-8B-Q4_K_M.gguf")

    result = run(
        source.replace("await runner.run(", "print(await runner.run(").replace('Paris?")', 'Paris?"))')
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert "72°F and sunny in" in result.stdout


async def test_an_unknown_name_with_recommended_sampling_raises(embedded_server: EmbeddedServer) -> None:
    result = run(at(embedded_server, block("recommended_sampling=True"), "SmolLM2-135M-Instruct.Q4_1.gguf"))

    assert result.returncode != 0
    assert "UnsupportedModelError" in result.stderr


@pytest.mark.timeout(400)
async def test_the_variant_with_respond_runs(embedded_server: EmbeddedServer) -> None:
    """A model of this size may still not get there; what counts is that it ends as Forge says runs end."""
    source = at(embedded_server, block("respond_tool()"), "SmolLM2-135M-Instruct.Q4_1.gguf")
    assert "context_manager=ctx)" in source

    result = run(source.replace("context_manager=ctx)", "context_manager=ctx, max_iterations=1)"))

    assert result.returncode == 0 or re.search(r"^forge\.errors\.", result.stderr, re.MULTILINE), (
        result.stderr
    )


def test_the_guardrails_loop_runs() -> None:
    result = run(block("Guardrails("))

    assert result.returncode == 0, result.stderr


def test_no_block_is_untested() -> None:
    markers = ("recommended_sampling=True", "respond_tool()", "Guardrails(")

    assert all(any(marker in text for marker in markers) for text in BLOCKS)
