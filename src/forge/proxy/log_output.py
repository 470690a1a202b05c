"""How the command's log is written: lines for people, or one JSON object a line.

Nothing that a client or a backend sent can forge a line: control characters are escaped. The configured keys are
replaced wherever they turn up. Lines below a warning that come while requests are served are written a moment later,
together: a system call for each would cost a request more than its line does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final, TextIO

LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TALKATIVE: Final = ("forge.proxy", "forge.serving", "forge.clients.model_client")
"""What is served, how far a model is loaded, what a backend can do; of everything else only warnings are wanted."""


_WRITE_AFTER: Final = 0.05
"""Seconds that a line may wait for others."""


class _Together(logging.StreamHandler[TextIO]):
    """Writes at once from a warning on, and wherever no event loop runs; else what came in a moment together.

    ``logging`` flushes its handlers when the interpreter ends.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._waiting_in: asyncio.AbstractEventLoop | None = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Take one entry. There are no filters here, and appending to a list needs no lock."""
        try:
            self._lines.append(self.format(record))
            if record.levelno >= logging.WARNING or not self._soon(record):
                self.flush()
        except Exception:  # noqa: BLE001 - as every handler: what cannot be written is told by logging, and stops nobody
            self.handleError(record)
        return True

    def flush(self) -> None:
        """Write what waits."""
        with self.lock or nullcontext():
            # Always the same list: another thread may be about to put a line into it.
            lines = self._lines[:]
            del self._lines[: len(lines)]
            if lines:
                self.stream.write("\n".join((*lines, "")))
        super().flush()

    def _soon(self, record: logging.LogRecord) -> bool:
        """Whether the lines will be written by the loop that runs here."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._waiting_in is not loop:
            self._waiting_in = loop
            loop.call_later(_WRITE_AFTER, self._write, record)
        return True

    def _write(self, record: logging.LogRecord) -> None:
        self._waiting_in = None
        try:
            self.flush()
        except Exception:  # noqa: BLE001 - as above
            self.handleError(record)


class _Safe(logging.Formatter):
    """Masks secrets in whatever is written."""

    def __init__(self, *args: Any, secrets: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._secrets = tuple(secrets)

    def masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


class TextFormatter(_Safe):
    """``12:00:00 [forge.proxy] INFO: message``; a traceback follows on lines of its own."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets=secrets)
        self._second = -1
        self._shown = ""

    def format(self, record: logging.LogRecord) -> str:
        """The whole entry."""
        second = int(record.created)
        if second != self._second:
            self._second, self._shown = second, time.strftime("%H:%M:%S", time.localtime(second))
        entry = f"{self._shown} [{record.name}] {record.levelname}: {record.getMessage()}"
        if not entry.isprintable():
            entry = _CONTROL.sub(_escaped, entry)
        if record.exc_info:
            entry = f"{entry}\n{self.formatException(record.exc_info)}"
        return self.masked(entry)


class JsonFormatter(_Safe):
    """One object a line: ``time`` (UTC), ``level``, ``logger``, ``message``, what the record adds, ``exception``."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets=secrets)

    def format(self, record: logging.LogRecord) -> str:
        """The whole entry."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json_line(entry, self.masked)


def json_line(entry: dict[str, Any], masked: Any = str) -> str:
    """``entry`` as one line of ASCII, so that no reader sees a line's end in it."""
    return str(masked(json.dumps(entry, default=str)))


def _spellings(secret: str) -> set[str]:
    """A secret as it may stand in a line: as it is, quoted, and any of these in JSON."""
    said = {secret, repr(secret)[1:-1]}
    return said | {json.dumps(text)[1:-1] for text in said}


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def set_up_logging(style: str, level: str, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Send the log of this process to ``stream`` (standard error), from ``level`` on.

    ``style`` is one of :data:`LOG_FORMATS`, ``level`` one of :data:`LOG_LEVELS`.
    """
    # A shorter one would turn up in every other word.
    long_enough = [secret for secret in secrets if len(secret) >= 4]
    known = sorted({text for secret in long_enough for text in _spellings(secret)}, key=len, reverse=True)
    handler = _Together(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(known) if style == "json" else TextFormatter(known))
    number = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger("forge").setLevel(number if number < logging.INFO else max(number, logging.WARNING))
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(number)
