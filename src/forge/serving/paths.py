"""The folder for what Forge can fetch or write again: models and logs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from forge.errors import EmbeddedModelError


def cache_dir() -> Path:
    """``FORGE_CACHE_DIR`` if set, else ``forge`` in the platform's cache folder. Not created here.

    Raises:
        EmbeddedModelError: there is neither that variable nor a home folder (a container's nameless user).

    Linux and others: ``$XDG_CACHE_HOME`` or ``~/.cache``; macOS: ``~/Library/Caches``; Windows: ``%LOCALAPPDATA%``.
    """
    override = os.environ.get("FORGE_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "forge"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "forge"
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: relative paths are invalid and to be ignored.
    return (Path(base) if base.startswith("/") else _home() / ".cache") / "forge"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise EmbeddedModelError(
            "there is no home folder to keep models and logs in",
            hint="Set FORGE_CACHE_DIR to a folder that you may write to.",
        ) from error
