import logging

import pytest

from forge.core.events import Attempt, Finished, Retrying, Usage
from forge.core.ledger import Fix
from forge.errors import StreamError
from forge.proxy.error_response import describe
from forge.proxy.report import Report

pytestmark = pytest.mark.anyio


class Client:
    def __init__(self):
        self.messages = []

    async def __call__(self, message):
        self.messages.append(message)


async def answered(report, status=200, body=b"{}"):
    await report.send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
    await report.send({"type": "http.response.body", "body": body})


def finished(model="m"):
    first = Attempt(number=1, verdict="unknown_tool", usage=Usage(prompt_tokens=10, completion_tokens=2))
    last = Attempt(
        number=2,
        verdict="accepted",
        usage=Usage(prompt_tokens=15, completion_tokens=3, cached_tokens=10),
        fixes=(Fix(code="comma"), Fix(code="quote")),
    )
    usage = Usage(prompt_tokens=25, completion_tokens=5, cached_tokens=10)
    return Finished(reason="tool_calls", usage=usage, attempts=(first, last))


async def test_the_answer_carries_the_id_of_its_line(caplog):
    client, report = Client(), None
    report = Report("/v1/chat/completions", client)
    report.model = "m"
    report.finished = finished()
    with caplog.at_level(logging.INFO, "forge.proxy"):
        report.retrying(Retrying(attempt=1, reason="unknown_tool", detail="x"))
        await answered(report)
        report.write()
    assert client.messages[0]["headers"] == [(b"a", b"b"), (b"x-request-id", report.id.encode())]
    retried, line = caplog.records
    assert retried.getMessage().startswith(report.id)
    assert line.levelno == logging.INFO
    fields = line.fields
    assert fields["request"] == report.id
    assert (fields["status"], fields["attempts"], fields["repairs"]) == (200, 2, 2)
    assert (fields["prompt_tokens"], fields["completion_tokens"], fields["cached_tokens"]) == (25, 5, 10)
    assert fields["seconds"] >= 0
    assert report.last_usage.prompt_tokens == 15


async def test_any_formatter_can_write_the_line(caplog):
    report = Report("/v1/chat/completions", Client())
    with caplog.at_level(logging.INFO, "forge.proxy"):
        await answered(report)
        report.write()
    style = "%(asctime)s %(name)s %(process)d %(thread)d %(threadName)s %(filename)s:%(lineno)d %(funcName)s %(message)s"
    assert report.id in logging.Formatter(style).format(caplog.records[0])


async def test_ids_differ():
    assert len({Report("/", Client()).id for _ in range(100)}) == 100


async def test_a_failure_is_one_warning_and_what_it_quotes_stays_quoted(caplog):
    report = Report("/v1/chat/completions", Client())
    report.model = "x\nforged line"
    error = StreamError("broke\noff")
    with caplog.at_level(logging.INFO, "forge.proxy"):
        report.fail(error, describe(error))
        await answered(report, 502)
        report.write()
    [line] = caplog.records
    assert line.levelno == logging.WARNING
    assert "\n" not in line.getMessage()
    assert line.fields["error"] == describe(error).message


async def test_an_unexpected_failure_leaves_its_traceback(caplog):
    report = Report("/v1/chat/completions", Client())
    error = RuntimeError("boom")
    report.fail(error, describe(error))
    assert caplog.records[0].exc_info[1] is error


async def test_a_client_that_went_away(caplog):
    report = Report("/v1/chat/completions", Client())
    with caplog.at_level(logging.INFO, "forge.proxy"):
        report.write()
    assert "client went away" in caplog.messages[0]
    assert not report.delivered


@pytest.mark.parametrize("size", [10, 8_000, 60_000])
async def test_the_tokens_of_a_forwarded_stream_are_looked_up_in_its_bytes(size):
    report = Report("/v1/chat/completions", Client())
    report.forwarded = report.stream = True
    await report.send({"type": "http.response.start", "status": 200, "headers": []})
    text = b'data: {"choices": [{"delta": {"content": "' + b"x" * size + b'"}}]}\n\n'
    last = b'data: {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}\n\n'
    for piece in (text, last[:30], last[30:]):
        await report.send({"type": "http.response.body", "body": piece, "more_body": True})
    await report.send({"type": "http.response.body", "body": b""})
    assert report.delivered
    assert report.usage == Usage(prompt_tokens=4, completion_tokens=2)


async def test_the_tokens_of_a_forwarded_answer():
    report = Report("/v1/chat/completions", Client())
    report.forwarded = True
    await answered(report, body=b'{"usage": {"prompt_tokens": 4}, "x": "' + b"y" * 50_000 + b'"}')
    assert report.usage.prompt_tokens == 4
