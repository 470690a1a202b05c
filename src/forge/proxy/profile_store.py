"""Where profiles are kept, and how they are read and written."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from forge.proxy.profile import ProfileError, parse_profile, workflow_tables

DEFAULT_PROFILE: Final = "default"


class ProfileExistsError(ProfileError):
    """A profile with other content is there already."""


class ProfileMissingError(ProfileError):
    """There is no such file."""


def profile_root(platform: str = sys.platform, environment: Mapping[str, str] | None = None) -> Path:
    """The folder of this user's profiles."""
    variables = os.environ if environment is None else environment
    if platform == "win32":
        roaming = variables.get("APPDATA")
        return (Path(roaming) if roaming else Path.home() / "AppData" / "Roaming") / "Forge" / "profiles"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Forge" / "profiles"
    base = variables.get("XDG_CONFIG_HOME", "")
    # The specification wants relative paths ignored.
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "forge" / "profiles"


def profile_path(name: str) -> Path:
    """The file of the profile called ``name``.

    Raises:
        ProfileError: the name cannot be one.
    """
    if not name or name in {".", ".."} or "/" in name or "\\" in name or not name.isprintable():
        raise ProfileError(f"{name!r} is not a profile name: it must be one plain file name")
    return profile_root() / f"{name}.toml"


def profile_paths() -> list[Path]:
    """The files of all profiles, by name."""
    return sorted(profile_root().glob("*.toml"))


def load_profile(path: Path) -> dict[str, Any]:
    """The values in the profile at ``path``.

    Raises:
        ProfileMissingError: there is no file.
        ProfileError: it cannot be read, or is no profile.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProfileMissingError(f"there is no profile at {path}{_others(path)}") from None
    except UnicodeDecodeError:
        raise ProfileError(f"{path}: not a TOML document: it is not UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ProfileError(f"cannot read the profile {path}: {reason}") from error
    try:
        return parse_profile(text)
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from error


def _others(path: Path) -> str:
    if path.parent != profile_root():
        return ""
    names = [other.stem for other in profile_paths()]
    return f" (there are: {', '.join(names)})" if names else ""


def present_workflows(path: Path) -> Any:
    """The rules for workflows in the profile at ``path``, as its tables; None where it has none that can be read."""
    try:
        return workflow_tables(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_profile(
    path: Path, text: str, *, force: bool = False, on_backup: Callable[[Path], None] = lambda _: None
) -> bool:
    """Write a profile that only its owner can read; False when it says just that already.

    Either the old or the new content is there at any time, never a part. What was there before is kept beside it,
    in a file that ``on_backup`` is told of.

    Raises:
        ProfileExistsError: other content is there, and ``force`` is not set.
        OSError: it cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link, into a folder of dot files say, stays one
    content = text.encode()
    try:
        present = target.read_bytes()
    except FileNotFoundError:
        present = None
    if present == content:
        return False
    if present is not None and not force:
        raise ProfileExistsError(
            f"profile already exists with other content: {path}; use --force to replace it"
        )
    _make_private(target.parent)
    if present is not None:
        on_backup(_kept(path, present))
    _replace(target, content)
    return True


def _kept(path: Path, content: bytes) -> Path:
    """The file beside ``path`` that has ``content`` from now on; none that has another is touched."""
    for number in count(1):
        backup = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        try:
            if backup.read_bytes() == content:
                break
        except FileNotFoundError:
            _replace(backup, content)
            break
    return backup


def _make_private(folder: Path) -> None:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _replace(target: Path, content: bytes) -> None:
    number, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=".tmp", dir=target.parent)  # mode 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
