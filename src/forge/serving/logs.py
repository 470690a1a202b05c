"""Where model servers' logs are kept, and what their last lines say."""

from __future__ import annotations

import itertools
import logging
import os
import re
import tempfile
import time
from pathlib import Path

from forge.errors import EmbeddedModelError, ServerStartError
from forge.serving.paths import cache_dir

logger = logging.getLogger(__name__)

KEPT_LOGS = 20
_TAIL_BYTES = 64 * 1024
_numbers = itertools.count(1)

# llama.cpp: "0.00.008.021 E srv  start: couldn't bind ..."; others write the level as a word.
_ERROR_LINE = re.compile(r"^\S+\s+E\s+(?P<short>.*)|.*\b(?:error|fatal|exception)\b.*", re.IGNORECASE)
# The lines that only say that it is over, after those that say why.
_FOLLOW_UP = re.compile(r"exiting due to|failed to init server|cleaning up", re.IGNORECASE)


def new_log_path(name: str) -> Path:
    """A fresh, empty log for a server called ``name``; old ones beyond the newest few are deleted.

    Where the cache cannot be written (an image that is read-only, say), it is a temporary file.

    Raises:
        ServerStartError: there is no place for logs at all.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    unique = f"{stamp}-{os.getpid()}-{next(_numbers)}"
    try:
        folder = cache_dir() / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{unique}.log"
        path.touch(exist_ok=False)
    except (OSError, EmbeddedModelError) as error:
        return _temporary_log(name, unique, error)
    ours = sorted(folder.glob(f"{name}-*.log"), key=_modified, reverse=True)
    for old in ours[KEPT_LOGS:]:
        old.unlink(missing_ok=True)
    return path


def _temporary_log(name: str, unique: str, why: Exception) -> Path:
    try:
        descriptor, path = tempfile.mkstemp(prefix=f"forge-{name}-{unique}-", suffix=".log")
    except OSError as error:
        raise ServerStartError(
            f"no log can be written: {why}; nor a temporary one: {error.strerror or error}",
            hint="Set FORGE_CACHE_DIR to a folder that you may write to.",
        ) from why
    os.close(descriptor)
    logger.info("the log is %s: %s", path, why)
    return Path(path)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process tidied up at the same moment
        return 0.0


def tail(path: Path, lines: int) -> str:
    """The last ``lines`` non-empty lines of a log; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def cause(log: str) -> str:
    """The line of a log's tail that most likely says why the server gave up; its last line if none stands out."""
    lines = log.splitlines()
    errors = [match for line in lines if (match := _ERROR_LINE.match(line)) and not _FOLLOW_UP.search(line)]
    if errors:
        first = errors[0]  # what follows the first error is usually its consequence
        return " ".join((first["short"] or first[0]).split())
    return lines[-1].strip() if lines else ""
