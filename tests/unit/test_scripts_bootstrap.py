"""The script that makes environments, interrupted while one of its programs runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bootstrap.py"
# An environment whose Python is a program that says where it is and goes on for ever.
SLOW = "#!{python}\nimport os, tempfile, time\ntempfile.mkdtemp()\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"

# As the script asks, of the index that pip is told about.
ASK = (
    f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
    "import bootstrap\n"
    "bootstrap.require_index([sys.executable, '-m', 'pip', 'install', '-qq', '--no-input', '--target', sys.argv[1]])\n"
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


NUMBERS = pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, id="terminated"),
        pytest.param(signal.SIGHUP, 129, id="terminal-closed"),
    ],
)
# What the script does, with a program that is slow for certain.
DRIVER = """
import os, subprocess, sys; sys.path.insert(0, {scripts!r})
import bootstrap
{before}
bootstrap.stop_on_signals()
try:
    with bootstrap.own_temporary_folder():
        bootstrap.run([{program!r}], 'failed')
except KeyboardInterrupt:
    sys.exit(130)
"""
# The signal comes when the program runs already, and whoever starts it does not know that yet.
WHILE_IT_STARTS = """
Started = subprocess.Popen
class Popen(Started):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        os.kill(os.getpid(), {number})
subprocess.Popen = Popen
"""


def driven(tmp_path: Path, before: str = "") -> subprocess.Popen[str]:
    program = tmp_path / "slow"
    program.write_text(SLOW.format(python=sys.executable))
    program.chmod(0o755)
    (tmp_path / "temporary").mkdir()
    driver = DRIVER.format(scripts=str(SCRIPT.parent), program=str(program), before=before)
    return subprocess.Popen(
        [sys.executable, "-c", driver],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        start_new_session=True,
    )


@NUMBERS
def test_interrupted_it_ends_what_it_started_and_says_nothing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with driven(tmp_path) as process:
        assert process.stdout is not None
        started = int(process.stdout.readline())
        os.killpg(process.pid, number)  # as a terminal does
        _, written = process.communicate(timeout=30)

    assert process.returncode == code
    assert written == ""
    assert not psutil.pid_exists(started)
    assert list((tmp_path / "temporary").iterdir()) == []


@NUMBERS
def test_interrupted_while_it_starts_something_it_ends_that_too(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """Its output is open as long as anything that was started runs, so the end of it is the end of all."""
    with driven(tmp_path, WHILE_IT_STARTS.format(number=int(number))) as process:
        _, written = process.communicate(timeout=30)

    assert process.returncode == code
    assert written == ""
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_index_that_cannot_be_reached_is_said_at_once_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        index = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        result = subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path)],
            env={
                **os.environ,
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_INDEX_URL": index,
                "PIP_EXTRA_INDEX_URL": "",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert "PIP_INDEX_URL" in line
