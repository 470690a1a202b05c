import asyncio
import io
import json
import logging
import threading

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


class Written(io.StringIO):
    """Counts what is written, piece by piece."""

    def __init__(self, fault=None):
        super().__init__()
        self.pieces = []
        self.fault = fault
        self.tried = asyncio.Event()

    def write(self, text):
        self.tried.set()
        if self.fault is not None:
            raise self.fault
        self.pieces.append(text)
        return super().write(text)

    @property
    def words(self):
        return [line.rpartition(" ")[2] for line in self.getvalue().splitlines()]


def log_to(out):
    """The log of the proxy, written to ``out``."""
    set_up_logging("text", "info", (), out)
    return logging.getLogger("forge.proxy")


@pytest.mark.anyio
async def test_lines_that_come_while_requests_are_served_are_written_together(restored):
    out = Written()
    log = log_to(out)
    log.info("one")
    log.info("two")
    assert out.pieces == []
    await out.tried.wait()
    assert out.words == ["one", "two"]
    assert len(out.pieces) == 1


@pytest.mark.anyio
async def test_a_warning_is_written_at_once_and_in_its_place(restored):
    out = Written()
    log = log_to(out)
    log.info("one")
    log.warning("two")
    assert out.words == ["one", "two"]


def test_what_waits_when_its_loop_ends_is_written_by_the_next_line_or_when_logging_ends(restored):
    out = Written()
    log = log_to(out)

    async def say(word):
        log.info(word)

    asyncio.run(say("one"))
    logging.getLogger().handlers[-1].flush()
    assert out.words == ["one"]
    asyncio.run(say("two"))
    log.info("three")
    assert out.words == ["one", "two", "three"]


class Flushing:
    """Has the log written while it is put into a line, as another thread may."""

    def __str__(self):
        writing = threading.Thread(target=logging.getLogger().handlers[-1].flush)
        writing.start()
        writing.join()
        return "two"


@pytest.mark.anyio
@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
async def test_a_line_that_is_made_while_others_are_written_is_not_lost(restored, level):
    out = Written()
    log = log_to(out)
    log.info("one")
    log.log(level, "%s", Flushing())
    logging.getLogger().handlers[-1].flush()
    assert out.words == ["one", "two"]


@pytest.mark.anyio
async def test_a_log_that_cannot_be_written_stops_nobody(restored, capsys):
    out = Written(BrokenPipeError("gone"))
    log = log_to(out)
    log.info("one")
    await out.tried.wait()
    assert "gone" in capsys.readouterr().err
    log.warning("two")
    assert "gone" in capsys.readouterr().err
