"""Installing a model, shown on a three-piece model of a few bytes whose packages are made here."""

from __future__ import annotations

import errno
import hashlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from forge.embedded import store
from forge.embedded.install import install
from forge.embedded.models import EmbeddedModel, Part
from forge.errors import EmbeddedModelError

PIECES = (b"first piece, ", b"second piece, ", b"end")
CONTENT = b"".join(PIECES)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel_of(piece: bytes, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("data/piece.bin"), piece)
    return path


class Index:
    """A package index on disk: the wheels of the model, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.fail: Callable[[str], None] = lambda requirement: None
        self._wheels = {
            f"piece{n}==1": wheel_of(piece, folder / f"{n}.whl") for n, piece in enumerate(PIECES)
        }

    def __call__(self, requirement: str, folder: Path, fetched: Callable[[int], None]) -> Path:
        self.asked.append(requirement)
        self.fail(requirement)
        target = folder / "piece.whl"
        shutil.copy(self._wheels[requirement], target)
        fetched(target.stat().st_size)
        return target

    def serve(self, requirement: str, piece: bytes) -> None:
        wheel_of(piece, self._wheels[requirement])

    def model(self) -> EmbeddedModel:
        parts = tuple(
            Part(
                requirement=requirement,
                member="data/piece.bin",
                size=len(piece),
                sha256=digest(piece),
                wheel_sha256=digest(wheel.read_bytes()),
                wheel_size=wheel.stat().st_size,
            )
            for (requirement, wheel), piece in zip(self._wheels.items(), PIECES, strict=True)
        )
        return EmbeddedModel(
            name="tiny",
            title="tiny",
            licence="MIT",
            file_name="tiny.gguf",
            size=len(CONTENT),
            sha256=digest(CONTENT),
            parts=parts,
            own_template=False,
            context_length=512,
            answer_limit=64,
        )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def index(tmp_path: Path) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    return Index(folder)


def ignore(done: int) -> None:
    pass


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


def test_the_pieces_become_one_file(cache: Path, index: Index) -> None:
    seen: list[int] = []

    path = install(index.model(), seen.append, index)

    assert path.read_bytes() == CONTENT
    assert path == cache / "tiny.gguf"
    assert files(cache) == {"tiny.gguf"}
    assert seen == sorted(seen)
    assert seen[-1] == len(CONTENT)


def test_a_second_installation_fetches_nothing(cache: Path, index: Index) -> None:
    install(index.model(), ignore, index)
    index.asked.clear()

    install(index.model(), ignore, index)

    assert index.asked == []


def test_an_interrupted_installation_goes_on_where_it_was(cache: Path, index: Index) -> None:
    def interrupt(requirement: str) -> None:
        if requirement == "piece2==1":
            raise KeyboardInterrupt

    index.fail = interrupt
    with pytest.raises(KeyboardInterrupt):
        install(index.model(), ignore, index)
    assert files(cache) == {"tiny.gguf.partial"}
    index.fail = lambda requirement: None
    index.asked.clear()

    path = install(index.model(), ignore, index)

    assert index.asked == ["piece2==1"]
    assert path.read_bytes() == CONTENT


def test_interrupted_in_the_first_piece_nothing_is_left(cache: Path, index: Index) -> None:
    def interrupt(requirement: str) -> None:
        raise KeyboardInterrupt

    index.fail = interrupt
    with pytest.raises(KeyboardInterrupt):
        install(index.model(), ignore, index)

    assert files(cache) == set()


@pytest.mark.parametrize(
    ("left", "fetched_again"),
    [
        pytest.param(PIECES[0] + b"seco", ["piece1==1", "piece2==1"], id="half a piece"),
        pytest.param(PIECES[0] + b"Second piece, ", ["piece1==1", "piece2==1"], id="a wrong piece"),
        pytest.param(b"x" * 100, ["piece0==1", "piece1==1", "piece2==1"], id="rubbish"),
        pytest.param(CONTENT, [], id="all pieces"),
        pytest.param(CONTENT + b"more", [], id="more than all"),
    ],
)
def test_only_verified_pieces_are_kept(
    cache: Path, index: Index, left: bytes, fetched_again: list[str]
) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.partial").write_bytes(left)

    path = install(index.model(), ignore, index)

    assert index.asked == fetched_again
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), b"short"], ids=["content", "size"])
def test_a_damaged_file_is_fetched_again(cache: Path, index: Index, content: bytes) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(content)

    path = install(index.model(), ignore, index)

    assert path.read_bytes() == CONTENT


def test_another_package_than_published_is_refused(cache: Path, index: Index) -> None:
    model = index.model()
    index.serve("piece1==1", b"evil piece")

    with pytest.raises(EmbeddedModelError, match="piece1==1"):
        install(model, ignore, index)

    assert (cache / "tiny.gguf.partial").read_bytes() == PIECES[0]
    assert not (cache / "tiny.gguf").exists()


def test_a_piece_that_differs_from_its_digest_is_refused(cache: Path, index: Index) -> None:
    index.serve("piece0==1", b"First piece, ")
    model = index.model()  # the wheel is the published one, its content is not

    with pytest.raises(EmbeddedModelError, match=r"piece\.bin"):
        install(model, ignore, index)

    assert files(cache) == set()


def test_a_full_disk_is_one_clear_error(cache: Path, index: Index) -> None:
    def fill(requirement: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    index.fail = fill

    with pytest.raises(EmbeddedModelError, match="disk is full") as caught:
        install(index.model(), ignore, index)

    assert "FORGE_CACHE_DIR" in caught.value.hint


def test_a_file_where_the_folder_should_be(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path / "file"))

    with pytest.raises(EmbeddedModelError, match="cannot write"):
        install(index.model(), ignore, index)


def test_a_whole_model_needs_no_folder_to_write_to(cache: Path, index: Index) -> None:
    path = install(index.model(), ignore, index)
    (cache / ".lock").unlink()
    (cache / ".lock").mkdir()  # permissions would not stop a test that is run by root

    assert install(index.model(), ignore, index) == path

    path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(EmbeddedModelError, match="cannot write"):
        install(index.model(), ignore, index)


def test_only_one_installation_at_a_time(cache: Path, index: Index) -> None:
    errors: list[str] = []

    def install_meanwhile(requirement: str) -> None:
        with pytest.raises(EmbeddedModelError) as caught:
            install(index.model(), ignore, Index(cache.parent))
        errors.append(str(caught.value))
        index.fail = lambda requirement: None

    index.fail = install_meanwhile
    install(index.model(), ignore, index)

    assert len(errors) == 1


def test_what_a_killed_installation_left_is_removed(cache: Path, index: Index) -> None:
    (cache / ".fetch-abc").mkdir(parents=True)
    (cache / ".fetch-abc" / "half.whl").touch()

    install(index.model(), ignore, index)

    assert files(cache) == {"tiny.gguf"}


def test_the_store_knows_what_is_there(cache: Path, index: Index) -> None:
    model = index.model()
    assert not store.installed(model)
    with pytest.raises(EmbeddedModelError, match="not installed") as caught:
        store.require(model)
    assert "install --model tiny" in caught.value.hint

    path = install(model, ignore, index)
    assert store.require(model) == path

    store.verify(model)
    path.write_bytes(bytes(model.size))
    assert store.require(model) == path  # the size is right
    with pytest.raises(EmbeddedModelError, match="damaged") as caught:
        store.verify(model)
    assert "install --model tiny" in caught.value.hint

    path.write_bytes(b"cut")
    with pytest.raises(EmbeddedModelError, match="damaged"):
        store.require(model)

    assert store.remove(model) == 3
    assert store.remove(model) == 0


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(EmbeddedModelError, match="smollm2"):
        store.known_model("gpt-17")
