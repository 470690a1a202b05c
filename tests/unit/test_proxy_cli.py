import re

import pytest

from forge._version import __version__
from forge.proxy.cli import main
from forge.proxy.launch import command
from forge.proxy.options import settings_of


def run(capsys, *arguments):
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"{__version__}\n", "")


def test_help_explains_every_option_under_a_heading(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for parameter in command.params:
        assert parameter.opts[0] in out
        assert parameter.help, parameter.name
    headings = re.findall(r"^(\w+):$", out, re.MULTILINE)
    assert headings[:3] == ["Backend", "Listening", "Guards"]
    assert "Backend started by Forge" in out
    assert headings[-1] == "Examples"


def test_examples_in_the_help_are_accepted(capsys):
    _, out, _ = run(capsys, "--help")
    examples = [line.split()[3:] for line in out.splitlines() if line.startswith("  python -m forge.proxy")]
    assert examples
    for arguments in examples:
        context = command.make_context("x", list(arguments))
        assert any(context.params[name] for name in ("backend_url", "backend", "profile"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(
            ["--backend-url", "http://h", "--max-tool-errors", "-1"], "--max-tool-errors", id="range"
        ),
        pytest.param(["--backend-url", "http://h", "--text-policy", "loud"], "--text-policy", id="choice"),
        pytest.param(["--max-ret", "1"], "--max-ret", id="abbreviation"),
        pytest.param(
            ["--backend", "embedded", "--backend-url", "http://h"], "--backend-url", id="contradiction"
        ),
        pytest.param(
            ["--backend-url", "http://h", "--text-policy", "trust", "--inject-respond-tool"],
            "--inject-respond-tool",
            id="policy-contradiction",
        ),
        pytest.param(["--serialize", "--no-serialize"], "--no-serialize", id="both-of-a-pair"),
        pytest.param(["--backend-url", "http://u:s3cret@h:99999"], "--backend-url", id="url-port"),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_2(capsys, arguments, named):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert named in err
    assert "s3cret" not in err


def test_blank_keys_are_none(monkeypatch):
    monkeypatch.setenv("FORGE_BACKEND_API_KEY", "  ")
    context = command.make_context("x", ["--backend-url", "http://h", "--api-key", ""])
    assert context.params["backend_api_key"] is None
    assert context.params["api_key"] is None


def test_extra_flags_take_the_rest_of_the_command_line():
    context = command.make_context(
        "x", ["--backend", "llamaserver", "--gguf", "m", "--extra-flags", "-t", "4", "--port", "1", "--help"]
    )
    assert context.params["extra_flags"] == ("-t", "4", "--port", "1", "--help")
    assert context.params["port"] == 8081
    assert command.make_context("x", ["--backend", "embedded"]).params["extra_flags"] == ()


def test_extra_flags_have_no_value_of_their_own(capsys):
    code, _, err = run(capsys, "--backend", "llamaserver", "--gguf", "m", "--extra-flags=-t 4")
    assert (code, err.count("\n")) == (2, 1)
    assert "--extra-flags" in err


def test_keys_come_from_files(tmp_path):
    (tmp_path / "ours").write_text("k1\n")
    (tmp_path / "theirs").write_text("k2\n")
    arguments = ["--backend-url", "http://h", "--api-key-file", str(tmp_path / "ours")]
    arguments += ["--backend-api-key-file", str(tmp_path / "theirs")]
    settings = settings_of(command.make_context("x", arguments).params)
    assert (settings.api_key, settings.backend_api_key) == ("k1", "k2")
