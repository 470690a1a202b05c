import sys

import click
import pytest

from forge.proxy.launch import chosen_settings, command
from forge.proxy.profile_store import profile_path, write_profile

PROFILE = 'schema_version = 1\nbackend_url = "http://from-profile"\nport = 9000\n'


@pytest.fixture(autouse=True)
def own_profiles(monkeypatch, tmp_path):
    if sys.platform != "linux":
        pytest.skip("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def chosen(*arguments):
    return chosen_settings(command.make_context("x", list(arguments)))


def test_a_profile_by_name_and_by_path(tmp_path):
    write_profile(profile_path("work"), PROFILE)
    (tmp_path / "own.toml").write_text(PROFILE)
    for arguments in (("--profile", "work"), ("--config", str(tmp_path / "own.toml"))):
        settings = chosen(*arguments)
        assert (settings.backend_url, settings.port) == ("http://from-profile", 9000)


def test_a_home_folder_that_no_shell_wrote_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.toml").write_text(PROFILE)
    assert chosen("--config=~/own.toml").port == 9000


@pytest.mark.parametrize("arguments", [[], ["-v"], ["--log-format", "json"]])
def test_nothing_said_is_the_default_profile(arguments):
    write_profile(profile_path("default"), PROFILE)
    settings = chosen(*arguments)
    assert settings.port == 9000
    assert settings.verbose == (arguments == ["-v"])


def test_flags_alone_read_no_profile():
    write_profile(profile_path("default"), PROFILE)
    assert chosen("--backend-url", "http://h").port == 8081


def test_a_proxy_on_the_default_port_can_be_checked_but_not_stood_before_itself():
    arguments = ["--backend-url", "http://localhost:8081"]
    with pytest.raises(click.UsageError, match="itself"):
        chosen(*arguments)
    context = command.make_context("x", arguments)
    assert chosen_settings(context, serves=False).backend_url == "http://localhost:8081"


@pytest.mark.parametrize(
    "more",
    [
        ["--port", "1"],
        ["--port=1"],
        ["--no-rescue"],
        ["--backend-api-key", "k"],
        ["--config", "x"],
        ["--extra-flags", "-t"],
    ],
)
def test_a_profile_is_whole(more):
    write_profile(profile_path("work"), PROFILE)
    with pytest.raises(click.UsageError, match="cannot be combined"):
        chosen("--profile", "work", *more)


def test_flags_of_the_log_may_stand_beside_a_profile():
    write_profile(profile_path("work"), PROFILE)
    settings = chosen("--profile", "work", "-v", "--log-format", "json")
    assert (settings.level, settings.log_format) == ("debug", "json")


def test_a_profile_that_is_not_there():
    for arguments in ([], ["--profile", "work"], ["--config", "/none.toml"]):
        with pytest.raises(click.UsageError) as caught:
            chosen(*arguments)
        assert ("init" in str(caught.value)) == (arguments == [])


def test_a_wrong_profile_names_its_file():
    write_profile(profile_path("work"), PROFILE.replace("9000", "99999"))
    with pytest.raises(click.UsageError) as caught:
        chosen("--profile", "work")
    assert str(profile_path("work")) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["--total-timeout", "-1"], "--total-timeout ", id="a-limit"),
        pytest.param(["--max-body", "nan"], "--max-body ", id="a-size"),
        pytest.param(["--queue-limit", "-1", "--serialize"], "--queue-limit ", id="the-queue"),
        pytest.param(["--allowed-host", "a:1"], "--allowed-host ", id="a-name-that-differs"),
        pytest.param(["--cors-origin", "a"], "--cors-origin ", id="another-one"),
        pytest.param(["--queue-limit", "4"], "--queue-limit ", id="a-queue-that-nothing-waits-in"),
        pytest.param(
            ["--queue-timeout", "4", "--no-serialize"], "--queue-timeout ", id="a-wait-that-is-none"
        ),
    ],
)
def test_what_is_wrong_is_called_as_it_was_typed(arguments, named):
    with pytest.raises(click.UsageError) as caught:
        chosen("--backend-url", "http://h", *arguments)
    assert named in str(caught.value)


@pytest.mark.parametrize("line", ["total_timeout = -1.0", "queue_limit = 4", "max_body = nan"])
def test_in_a_profile_it_is_called_as_it_is_written_there(line):
    write_profile(profile_path("work"), f"{PROFILE}{line}\n")
    with pytest.raises(click.UsageError) as caught:
        chosen("--profile", "work")
    assert f": {line.partition(' ')[0]} " in str(caught.value)


@pytest.mark.parametrize(
    "arguments", [["--serialize"], ["--max-concurrent", "2"]], ids=["one-at-a-time", "some-at-a-time"]
)
def test_a_bound_on_the_queue(arguments):
    settings = chosen("--backend-url", "http://h", *arguments, "--queue-limit", "4", "--queue-timeout", "9")
    assert (settings.limits.queue, settings.limits.queue_seconds) == (4, 9.0)


def test_a_key_and_its_file_exclude_one_another(tmp_path):
    (tmp_path / "k").write_text("k")
    with pytest.raises(click.UsageError, match="--api-key-file"):
        chosen("--backend-url", "http://h", "--api-key", "a", "--api-key-file", str(tmp_path / "k"))


def test_a_file_named_on_the_command_line_beats_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_API_KEY", "from-environment")
    (tmp_path / "k").write_text("from-file")
    assert chosen("--backend-url", "http://h", "--api-key-file", str(tmp_path / "k")).api_key == "from-file"
