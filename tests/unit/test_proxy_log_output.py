import io
import json
import logging

import pytest

from forge.proxy.log_output import JsonFormatter, TextFormatter, set_up_logging

HOSTILE = "a\nb\x1b[2Jc\x85d\u2028e\x9b"


def record(message, *arguments, **more):
    made = logging.LogRecord("forge.proxy", logging.INFO, "f", 1, message, arguments, None)
    vars(made).update(more)
    return made


def test_nothing_in_a_message_begins_a_line_or_moves_the_cursor():
    line = TextFormatter().format(record("%s", HOSTILE))
    assert line.isprintable()
    assert line.endswith(r"a\nb\x1b[2Jc\x85d\u2028e\x9b")


def test_a_json_line_holds_the_message_and_what_the_record_adds():
    line = JsonFormatter().format(record("%s", HOSTILE, fields={"model": "ü", "tokens": 3}))
    assert line.isascii()
    assert line.isprintable()
    entry = json.loads(line)
    assert (entry["level"], entry["logger"], entry["message"]) == ("info", "forge.proxy", HOSTILE)
    assert (entry["model"], entry["tokens"]) == ("ü", 3)
    assert entry["time"].endswith("+00:00")


def test_each_line_says_its_own_time():
    formatter = TextFormatter()
    lines = [formatter.format(record("x", created=float(second))) for second in (0, 1, 61)]
    assert len({line.partition(" ")[0] for line in lines}) == 3


@pytest.mark.parametrize("formatter", [TextFormatter, JsonFormatter])
def test_keys_are_masked_in_messages_and_tracebacks(formatter):
    error = ValueError("key s3cret-key")
    failed = record("with %s", "s3cret-key", exc_info=(ValueError, error, None))
    text = formatter(["s3cret-key"]).format(failed)
    assert "s3cret" not in text
    assert "ValueError" in text


@pytest.fixture
def restored():
    names = ("", "forge", "forge.proxy", "forge.serving", "forge.clients.model_client")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = list(logging.getLogger().handlers)
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger().handlers[:] = handlers


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("template", ["sent %s", "sent %r"])
@pytest.mark.parametrize("secret", ['s3cr"et', "s3cr\\et", "s3crèt", "s3cr'et\"x"])
def test_a_key_is_masked_however_it_is_quoted(restored, style, template, secret):
    out = io.StringIO()
    set_up_logging(style, "info", (secret,), out)
    logging.getLogger("forge.proxy").info(template, secret, extra={"fields": {"error": secret}})
    assert "s3cr" not in out.getvalue()
    assert "***" in out.getvalue()


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        pytest.param("debug", ["debug", "info", "warning", "other debug"], id="debug"),
        pytest.param("info", ["info", "warning"], id="info"),
        pytest.param("warning", ["warning"], id="warning"),
        pytest.param("error", [], id="error"),
    ],
)
def test_levels(restored, level, shown):
    out = io.StringIO()
    set_up_logging("json", level, ("s3cret",), out)
    for name in ("debug", "info", "warning"):
        logging.getLogger("forge.proxy").log(logging.getLevelNamesMapping()[name.upper()], name)
    logging.getLogger("forge.clients.x").debug("other debug")
    logging.getLogger("aiohttp").info("foreign")
    assert [json.loads(line)["message"] for line in out.getvalue().splitlines()] == shown
