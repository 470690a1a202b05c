"""The folder of installed embedded models: what is there, whole or not, and how to remove it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from forge.embedded.models import DEFAULT_MODEL, MODELS, EmbeddedModel
from forge.errors import EmbeddedModelError
from forge.serving.paths import cache_dir

_BLOCK = 1024 * 1024


def known_model(name: str) -> EmbeddedModel:
    """The model called ``name``.

    Raises:
        EmbeddedModelError: there is none.
    """
    try:
        return MODELS[name]
    except KeyError:
        raise EmbeddedModelError(
            f"no embedded model is called {name!r}: choose from {', '.join(MODELS)}"
        ) from None


def models_dir() -> Path:
    """The folder that model files are kept in."""
    return cache_dir() / "models"


def model_path(model: EmbeddedModel) -> Path:
    """Where the model's file is, or would be."""
    return models_dir() / model.file_name


def partial_path(model: EmbeddedModel) -> Path:
    """Where the pieces of a model are gathered: whole, verified pieces, in order."""
    return models_dir() / f"{model.file_name}.partial"


def installed(model: EmbeddedModel) -> bool:
    """Whether the file is there and has the right size. The content was verified when it was put there."""
    try:
        return model_path(model).stat().st_size == model.size
    except OSError:
        return False


def require(model: EmbeddedModel) -> Path:
    """The path of an installed model.

    Raises:
        EmbeddedModelError: it is missing or damaged; the hint is the command that installs it.
    """
    path = model_path(model)
    if installed(model):
        return path
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        what = f"the embedded model {model.name} is not installed"
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror}"
    else:
        what = f"{path} is damaged: {size:,} bytes where {model.size:,} belong"
    raise EmbeddedModelError(what, hint=f"Run: {install_command(model)}")


def verify(model: EmbeddedModel) -> None:
    """Read the whole file of an installed model.

    Raises:
        EmbeddedModelError: it is not what was published, or cannot be read.
    """
    path = require(model)
    try:
        good = sha256_of(path) == model.sha256
    except OSError as error:
        raise EmbeddedModelError(f"{path} cannot be read: {error.strerror}") from error
    if not good:
        raise EmbeddedModelError(
            f"{path} is damaged: its content is not what was published",
            hint=f"Run: {install_command(model)}",
        )


def install_command(model: EmbeddedModel) -> str:
    """The command that installs the model."""
    option = "" if model.name == DEFAULT_MODEL else f" --model {model.name}"
    return f"python -m forge.embedded install{option}"


def remove(model: EmbeddedModel) -> int:
    """Delete a model's file and what was gathered of it; the number of bytes freed."""
    freed = 0
    for path in (model_path(model), partial_path(model)):
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue
        freed += size
    return freed


def sha256_of(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """Digest of a file; ``advance`` hears about each block read, in bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            if advance is not None:
                advance(len(block))
    return digest.hexdigest()
