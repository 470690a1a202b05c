import os
import stat
import sys
from pathlib import Path

import pytest

from forge.proxy.profile import ProfileError
from forge.proxy.profile_store import (
    ProfileExistsError,
    ProfileMissingError,
    load_profile,
    profile_path,
    profile_paths,
    profile_root,
    write_profile,
)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        pytest.param("linux", {"XDG_CONFIG_HOME": "/c"}, Path("/c/forge/profiles"), id="xdg"),
        pytest.param("linux", {}, Path.home() / ".config/forge/profiles", id="linux"),
        pytest.param(
            "linux", {"XDG_CONFIG_HOME": "c"}, Path.home() / ".config/forge/profiles", id="relative"
        ),
        pytest.param("darwin", {}, Path.home() / "Library/Application Support/Forge/profiles", id="macos"),
        pytest.param("win32", {"APPDATA": "/a"}, Path("/a/Forge/profiles"), id="windows"),
    ],
)
def test_where_profiles_are_kept(platform, environment, expected):
    assert profile_root(platform, environment) == expected


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "/a", "a\0", "a\nb"])
def test_a_name_must_be_one(name):
    with pytest.raises(ProfileError, match="profile name"):
        profile_path(name)


def test_spaces_are_fine(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert profile_path("my profile") == tmp_path / "forge/profiles/my profile.toml"


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_the_owner_reads_what_is_written(tmp_path):
    path = tmp_path / "forge" / "profiles" / "a.toml"
    assert write_profile(path, "x = 1\n")
    assert path.read_text() == "x = 1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parents[1])} == {0o700}
    assert list(path.parent.iterdir()) == [path]


def test_the_same_is_not_written_again_and_another_only_with_force(tmp_path):
    path = tmp_path / "a.toml"
    assert write_profile(path, "x = 1\n")
    assert not write_profile(path, "x = 1\n")
    with pytest.raises(ProfileExistsError):
        write_profile(path, "x = 2\n")
    assert path.read_text() == "x = 1\n"
    assert write_profile(path, "x = 2\n", force=True)
    assert path.read_text() == "x = 2\n"


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "dots").mkdir()
    (tmp_path / "a.toml").symlink_to(tmp_path / "dots" / "a.toml")
    assert write_profile(tmp_path / "a.toml", "x = 1\n")
    assert (tmp_path / "a.toml").is_symlink()
    assert (tmp_path / "dots" / "a.toml").read_text() == "x = 1\n"


def test_a_failed_write_leaves_the_old_and_no_rest(tmp_path):
    path = tmp_path / "a.toml"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_profile(path, "x = 2\n", force=True)
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_names_the_file(tmp_path):
    with pytest.raises(ProfileMissingError):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    for path in (tmp_path, tmp_path / "bad.toml", Path("a\0b")):
        with pytest.raises(ProfileError) as caught:
            load_profile(path)
        assert str(path) in str(caught.value)


def test_profiles_are_listed_by_name(monkeypatch, tmp_path):
    if sys.platform != "linux":
        pytest.skip("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert profile_paths() == []
    for name in ("b", "a"):
        write_profile(profile_path(name), "")
    (profile_root() / "notes.txt").write_text("")
    assert [path.stem for path in profile_paths()] == ["a", "b"]
    with pytest.raises(ProfileMissingError, match="a, b"):
        load_profile(profile_path("c"))
