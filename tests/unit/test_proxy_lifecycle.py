import pytest

from forge.errors import BackendUnreachableError, EmbeddedModelError, ServerStartError
from forge.proxy.lifecycle import why
from forge.proxy.server import BindError


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        pytest.param(
            BackendUnreachableError("http://u:s3cret@h:1"), ["http://***@h:1", "llama-server"], id="backend"
        ),
        pytest.param(EmbeddedModelError("no model", hint="Run: x"), ["no model", "Run: x"], id="hint"),
        pytest.param(ServerStartError("did not\n  start"), ["did not start"], id="several-lines"),
        pytest.param(BindError("port 1 is taken"), ["port 1 is taken"], id="port"),
    ],
)
def test_one_line_with_the_cause_and_what_helps(error, parts):
    line = why(error)
    assert "\n" not in line
    assert "s3cret" not in line
    for part in parts:
        assert part in line
