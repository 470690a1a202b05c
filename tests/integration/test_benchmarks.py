"""The benchmark scripts run and leave nothing; what they measure is not judged here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def command(script: str, *arguments: str) -> Sequence[str]:
    return [sys.executable, str(ROOT / "benchmarks" / script), *arguments]


@pytest.mark.timeout(300)
def test_through_forge_a_required_call_is_valid(embedded_installed: None) -> None:
    """The first requests of the benchmark, through the real proxy to the real model."""
    result = subprocess.run(
        command("embedded.py", "--first", "3", "--only", "Forge, required", "--threads", "1"),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert "3 of 3" in result.stdout


def test_the_overhead_is_printed() -> None:
    result = subprocess.run(
        command("proxy_overhead.py", "--requests", "3", "--warmup", "1"),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert "added by Forge" in result.stdout


def test_a_short_soak_finds_nothing() -> None:
    result = subprocess.run(
        command("soak.py", "--streams", "12", "--seconds", "1", "--words", "8", "--pace", "0.02"),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert "not noticed 0" in result.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_demo_leaves_nothing_running(embedded_installed: None, number: signal.Signals) -> None:
    with subprocess.Popen(
        command("demo.py"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as demo:
        assert demo.stdout is not None
        while "Ten requests" not in demo.stdout.readline():
            assert demo.poll() is None, "the demo ended early"
        family = psutil.Process(demo.pid).children(recursive=True)

        demo.send_signal(number)
        _, errors = demo.communicate(timeout=60)

    assert demo.returncode == 130
    assert len(family) == 4  # model server and proxy, each with its guard
    assert psutil.wait_procs(family, timeout=30)[1] == []
    assert "Traceback" not in errors
