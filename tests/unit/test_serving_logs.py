from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from forge.errors import ServerStartError
from forge.serving import logs


def test_the_tail_skips_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("one\n\ntwo\n\nthree\n\n")

    assert logs.tail(path, 2) == "two\nthree"


def test_the_tail_of_a_large_log_with_odd_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"\xff\xfe noise\n" * 50_000 + b"last\n")

    assert logs.tail(path, 1) == "last"


def test_the_tail_of_no_log_is_empty(tmp_path: Path) -> None:
    assert logs.tail(tmp_path / "none.log", 5) == ""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("starting\nbye", "bye", id="no error: the last line"),
        pytest.param(
            "0.00.007 I srv init: starting\n"
            "0.00.008 E srv start: couldn't bind HTTP server socket, port: 18181\n"
            "0.00.009 E srv init: exiting due to HTTP server error\n"
            "RuntimeError: Failed to init server, please check the input params.",
            "srv start: couldn't bind HTTP server socket, port: 18181",
            id="llama.cpp: what came before the exit",
        ),
        pytest.param(
            "INFO loading\nERROR: out of memory\nERROR: worker died",
            "ERROR: out of memory",
            id="words: the first",
        ),
    ],
)
def test_the_cause_is_the_first_error(log: str, expected: str) -> None:
    assert logs.cause(log) == expected


def test_only_the_newest_logs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))
    folder = tmp_path / "logs"
    folder.mkdir()
    for age in range(logs.KEPT_LOGS + 5):
        old = folder / f"server-{age}.log"
        old.touch()
        os.utime(old, (1_000_000 - age, 1_000_000 - age))
    (folder / "other-1.log").touch()

    path = logs.new_log_path("server")

    assert path.exists()
    names = {file.name for file in folder.glob("server-*.log")}
    assert len(names) == logs.KEPT_LOGS
    assert "server-0.log" in names
    assert f"server-{logs.KEPT_LOGS + 4}.log" not in names
    assert (folder / "other-1.log").exists()


def test_two_logs_never_share_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))

    assert logs.new_log_path("server") != logs.new_log_path("server")


def test_a_log_is_a_temporary_file_where_the_cache_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "logs").write_text("a file where the folder belongs")

    path = logs.new_log_path("embedded")

    assert path.parent == tmp_path
    assert path.read_bytes() == b""
    assert path.stat().st_mode & 0o077 == 0  # what a server logs is nobody else's business


def test_no_place_for_logs_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").write_text("a file where the folder belongs")
    monkeypatch.setenv("FORGE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with pytest.raises(ServerStartError) as caught:
        logs.new_log_path("embedded")
    assert "FORGE_CACHE_DIR" in caught.value.hint
