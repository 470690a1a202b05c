import io
import sys
import tomllib

import pytest

from forge.proxy.cli import main
from forge.proxy.init_command import Questions, ask
from forge.proxy.profile import ProfileError
from forge.proxy.profile_store import profile_path


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
