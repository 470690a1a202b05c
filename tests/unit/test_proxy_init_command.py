import io
import sys
import tomllib

import pytest

from forge.proxy.cli import main
from forge.proxy.init_command import Questions, ask
from forge.proxy.profile import ProfileError, parse_profile
from forge.proxy.profile_store import load_profile, profile_path, profile_paths


@pytest.fixture(autouse=True)
def own_profiles(monkeypatch, tmp_path):
    if sys.platform != "linux":
        pytest.skip("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def init(capsys, *arguments):
    code = main(["init", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def answers(*lines):
    return Questions(io.StringIO("".join(f"{line}\n" for line in lines)), io.StringIO())


@pytest.mark.parametrize(
    ("known", "lines", "found"),
    [
        pytest.param(
            {},
            ["unmanaged", "http://h", "", "", ""],
            {"backend_url": "http://h"},
            id="one-that-runs",
        ),
        pytest.param(
            {},
            ["managed", "llamaserver", "m.gguf", "::1", "9000"],
            {"backend": "llamaserver", "gguf": "m.gguf", "host": "::1", "port": 9000},
            id="one-to-start",
        ),
        pytest.param(
            {"backend_url": "http://h", "port": 1, "host": "h"}, ["vllm"], {"backend": "vllm"}, id="kind"
        ),
        pytest.param({"backend": "vllm", "model_path": "p", "host": "h", "port": 1}, [], {}, id="all-said"),
        pytest.param({"backend": "embedded", "host": "h"}, ["5"], {"port": 5}, id="embedded-needs-no-model"),
        pytest.param(
            {"backend": "anthropic", "host": "h", "port": 1},
            ["https://a"],
            {"backend_url": "https://a"},
            id="none-to-start",
        ),
    ],
)
def test_only_what_is_missing_is_asked(known, lines, found):
    questions = answers(*lines)
    assert ask(known, questions) == found
    assert questions._source.read() == ""


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="nothing"),
        pytest.param([""], id="empty-where-needed"),
        pytest.param(["unmanaged"], id="ends-in-between"),
        pytest.param(["unmanaged", "notaurl"], id="no-url"),
        pytest.param(["managed", "openai"], id="cannot-be-started"),
        pytest.param(["managed", "embedded", "", "70000"], id="no-port"),
    ],
)
def test_answers_that_are_none(lines):
    with pytest.raises(ProfileError):
        ask({}, answers(*lines))


def test_a_terminal_may_try_again():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    questions = Questions(Terminal("what\nmanaged\nembedded\n\nx\n80\n"), io.StringIO())
    assert ask({}, questions) == {"backend": "embedded", "port": 80}


def test_a_profile_from_flags(capsys):
    arguments = ("--profile", "a b", "--non-interactive", "--backend-url", "http://h", "--no-rescue")
    code, out, _ = init(capsys, *arguments)
    assert code == 0
    text = profile_path("a b").read_text()
    assert tomllib.loads(text) == {"schema_version": 1, "backend_url": "http://h", "no_rescue": True}
    assert out.startswith(text)
    assert out.splitlines()[-2:] == [
        f"Wrote profile: {profile_path('a b')}",
        "Launch with: python -m forge.proxy --profile 'a b'",
    ]
    assert "Unchanged profile" in init(capsys, *arguments)[1]


def test_another_content_needs_force(capsys):
    base = ("--non-interactive", "--backend-url")
    init(capsys, *base, "http://h")
    code, out, err = init(capsys, *base, "http://g")
    assert (code, err.count("\n")) == (2, 1)
    assert "already exists" in err
    assert "http://g" in out
    assert init(capsys, *base, "http://g", "--force")[0] == 0
    assert "http://g" in profile_path("default").read_text()


WORKFLOW = """
# mine
[[workflows]]
name = "release"
tools = ["test", "publish"]
required_steps = ["test"]
terminal_tools = ["publish"]

[workflows.prerequisites]
publish = ["test"]
"""


def test_force_loses_nothing_that_was_written(capsys):
    base = ("--non-interactive", "--backend-url", "http://h")
    init(capsys, *base)
    path = profile_path("default")
    path.write_text(path.read_text() + WORKFLOW)
    before = path.read_text()
    code, out, _ = init(capsys, *base, "--port", "9000", "--force")
    assert code == 0
    after = load_profile(path)
    assert after["port"] == 9000
    assert after["workflows"] == parse_profile(before)["workflows"]
    backup = path.with_name("default.toml.bak")
    assert backup.read_text() == before
    assert str(backup) in out
    assert profile_paths() == [path]  # no profile of its own


def test_each_replaced_profile_is_kept(capsys):
    for port in range(9000, 9003):
        init(capsys, "--non-interactive", "--backend-url", "http://h", "--port", str(port), "--force")
    kept = [profile_path("default").with_name(f"default.toml.{end}") for end in ("bak", "bak2")]
    assert [parse_profile(path.read_text())["port"] for path in kept] == [9000, 9001]
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


def test_the_same_again_changes_nothing_with_force_too(capsys):
    base = ("--non-interactive", "--backend-url", "http://h", "--force")
    init(capsys, *base)
    assert "Unchanged" in init(capsys, *base)[1]
    assert list(profile_path("default").parent.iterdir()) == [profile_path("default")]


def test_a_file_that_is_no_profile_is_kept_too(capsys):
    path = profile_path("default")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"workflows = \xff [")
    assert init(capsys, "--non-interactive", "--backend-url", "http://h", "--force")[0] == 0
    assert path.with_name("default.toml.bak").read_bytes() == b"workflows = \xff ["


def test_without_force_the_file_stays_as_it_is(capsys):
    base = ("--non-interactive", "--backend-url", "http://h")
    init(capsys, *base)
    path = profile_path("default")
    path.write_text(path.read_text() + WORKFLOW)
    assert init(capsys, *base)[0] == 2
    assert path.read_text().endswith(WORKFLOW)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["--non-interactive"], "--backend-url", id="nothing-said"),
        pytest.param(["--non-interactive", "--backend", "vllm"], "--model-path", id="identity"),
        pytest.param(
            ["--profile", "a/b", "--non-interactive", "--backend-url", "http://h"], "profile name", id="name"
        ),
        pytest.param(["--backend-api-key", "k"], "--backend-api-key", id="keys-are-no-settings"),
    ],
)
def test_what_cannot_be_a_profile_writes_none(capsys, arguments, named):
    code, _, err = init(capsys, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert named in err
    assert not profile_path("default").exists()


def test_the_end_of_the_input_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code, _, err = init(capsys)
    assert code == 2
    assert "Traceback" not in err


def test_a_key_that_comes_later_is_a_note(capsys):
    code, out, _ = init(capsys, "--non-interactive", "--backend-url", "http://h", "--host", "0.0.0.0")
    assert code == 0
    assert "FORGE_API_KEY" in out
