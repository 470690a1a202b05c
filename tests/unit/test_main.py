import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from forge._version import __version__


def run(*words):
    done = subprocess.run(
        [sys.executable, "-m", "forge", *words], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_help_names_commands_that_are_there():
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    named = re.findall(r"python -m (forge\.\w+)", out)
    assert {"forge.proxy", "forge.embedded"} <= set(named)
    assert all(find_spec(f"{name}.__main__") for name in named)
    assert max(map(len, out.splitlines())) <= 100


def test_without_a_word_the_help_is_told_as_an_error():
    assert run() == (2, "", run("--help")[1])


def test_version():
    assert run("--version") == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["proxy"], "python -m forge.proxy,", id="with-a-space"),
        pytest.param(["proxy", "init", "--force"], "python -m forge.proxy init,", id="two-words"),
        pytest.param(["proxy", "--port", "1"], "python -m forge.proxy,", id="flags"),
        pytest.param(["run\n"], "'run\\n' is no command", id="unknown"),
    ],
)
def test_other_words_are_one_line_that_helps(words, told):
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
