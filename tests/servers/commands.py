"""Commands put on PATH for tests."""

from __future__ import annotations

import sys
from pathlib import Path

LLAMA_SERVER = Path(__file__).with_name("llama_server.py")
STAND_IN = Path(__file__).with_name("stand_in.py")


def put_on_path(folder: Path, name: str, script: Path) -> Path:
    """An executable ``name`` in ``folder`` that runs a Python script with this interpreter."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / name
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    command.chmod(0o755)
    return command
