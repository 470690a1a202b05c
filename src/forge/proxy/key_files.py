"""Keys that are kept in files, so that no list of processes and no shell history shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forge.proxy.settings import SettingsError

_MOST_BYTES: Final = 64 * 1024


def read_key(path: Path) -> str:
    """The key in ``path``: the one line of the file, without the white space around it.

    Raises:
        SettingsError: the file cannot be read, is empty, or holds more than a key. Its text is never quoted.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot read the key file {path}: {error.strerror or error}") from error
    try:
        key = raw.decode().strip()
    except UnicodeDecodeError:
        raise SettingsError(f"the key file {path} is not text") from None
    if not key:
        raise SettingsError(f"the key file {path} is empty")
    if len(raw) > _MOST_BYTES or len(key.split()) != 1:
        raise SettingsError(f"the key file {path} must hold one key and nothing else")
    return key
