import json
import sys

import pytest

from forge.proxy.check_command import runtime_finding
from forge.proxy.cli import main
from forge.proxy.profile_store import profile_path, write_profile

GOOD = 'schema_version = 1\nbackend_url = "http://127.0.0.1:9"\n'


@pytest.fixture(autouse=True)
def own_profiles(monkeypatch, tmp_path):
    if sys.platform != "linux":
        pytest.skip("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def check(capsys, *arguments):
    code = main(["check", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_all_is_well(capsys):
    write_profile(profile_path("b"), GOOD)
    write_profile(profile_path("a"), GOOD + 'host = "0.0.0.0"\n')
    code, out, _ = check(capsys)
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[:2] for line in lines] == [
        ["OK", "runtime:"],
        ["OK", "profile"],
        ["OK", "profile"],
        ["OK", "listener:"],
    ]
    assert "profile a" in lines[1]
    assert "FORGE_API_KEY" in lines[1]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param(None, "init", id="no-profile"),
        pytest.param(GOOD + "x = 1", "unknown profile fields: x", id="unknown-field"),
        pytest.param(GOOD + "port = 99999", "port", id="out-of-range"),
        pytest.param("schema_version = 1", "backend_url", id="no-backend"),
    ],
)
def test_what_is_wrong_is_told_and_the_rest_is_still_looked_at(capsys, text, named):
    if text is not None:
        write_profile(profile_path("a"), text)
    code, out, _ = check(capsys)
    assert code == 1
    [wrong] = [line for line in out.splitlines() if line.startswith("ERROR")]
    assert named in wrong
    assert out.splitlines()[-1].startswith("OK listener")


def test_one_profile_as_json(capsys):
    write_profile(profile_path("a"), "broken")
    write_profile(profile_path("b"), GOOD)
    code, out, _ = check(capsys, "--profile", "b", "--json")
    assert code == 0
    assert [each["about"] for each in json.loads(out)["checks"]] == ["runtime", "profile b", "listener"]


@pytest.mark.parametrize(
    "arguments", [["--port", "1"], ["--profile", "a", "--config", "b"], ["--profile", "a/b"], ["x"]]
)
def test_wrong_flags(capsys, arguments):
    code, out, err = check(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_live_needs_a_backend_that_is_named(capsys):
    code, _, err = check(capsys, "--live")
    assert (code, err.count("\n")) == (2, 1)


def test_live_with_a_key_for_the_backend_needs_none_for_callers(capsys):
    code, out, _ = check(
        capsys, "--live", "--backend-url", "http://127.0.0.1:9", "--backend-api-key", "s3cret"
    )
    assert code == 1
    assert out.startswith("ERROR reachable")
    assert "s3cret" not in out


def test_the_runtime_is_of_one_version():
    assert runtime_finding().state == "ok"
