import errno
import io
import json

import pytest

from forge.core.capabilities import Capabilities
from forge.engine.workflow_rules import WorkflowRules
from forge.proxy.announce import announce
from forge.proxy.runtime import Runtime
from forge.proxy.settings import Settings


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(out, capabilities=None, **fields):
    runtime = Runtime(Settings(backend_url="http://u:s3cret@h:1", **fields))
    runtime.capabilities = capabilities
    announce(runtime, out)
    return out.getvalue()


def test_the_first_line_is_for_scripts():
    assert shown(io.StringIO()).splitlines()[0] == "forge proxy running at http://127.0.0.1:8081"


def test_an_ipv6_address_is_written_as_one():
    assert "http://[::1]:8081" in shown(io.StringIO(), host="::1")


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
def test_what_a_person_needs_is_there_and_no_secret(out):
    known = Capabilities(context_length=32768, model="qwen")
    text = shown(out(), known, max_retries=5, backend_api_key="s3cret", api_key="s3cret")
    for part in ("qwen", "32,768", "5 corrections", "http://127.0.0.1:8081/v1", "Ctrl-C"):
        assert part in text
    assert "s3cret" not in text


def test_colour_only_in_a_terminal():
    assert "\x1b" not in shown(io.StringIO())


class Full(io.StringIO):
    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_narrow_terminal_gets_each_value_in_one_piece(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = shown(Terminal())
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:8081  ANTHROPIC_AUTH_TOKEN=any\n" in text


def test_a_proxy_serves_also_where_nobody_reads_its_announcement():
    shown(Full())


def test_every_client_is_told_where_to_point():
    text = shown(io.StringIO(), host="0.0.0.0", allow_anonymous=True)
    for part in (
        "OPENAI_BASE_URL=http://127.0.0.1:8081/v1",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:8081 ",
        "Codex",
    ):
        assert part in text


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
def test_for_machines_it_is_one_line_of_json(out):
    known = Capabilities(context_length=32768, model="qwen", constrains=True)
    text = shown(out(), known, log_format="json", backend_api_key="s3cret", api_key="s3cret")
    assert text.count("\n") == 1
    assert "s3cret" not in text
    told = json.loads(text)
    assert (told["event"], told["url"], told["model"]) == ("started", "http://127.0.0.1:8081", "qwen")
    assert told["clients"] == {"openai": "http://127.0.0.1:8081/v1", "anthropic": "http://127.0.0.1:8081"}
    assert told["key_required"]
    assert told["guards"]["constrain"]


def test_rules_for_the_order_of_calls_are_counted_once():
    rules = WorkflowRules(name="fix", required_steps=("read",))
    guards = next(line for line in shown(io.StringIO(), workflows=(rules,)).splitlines() if "guards" in line)
    assert [part for part in guards.split(", ") if "1" in part] == ["1 workflow"]


@pytest.mark.parametrize(("limit", "told"), [(3, True), (0, False)])
def test_guards_that_are_off_are_not_told_of(limit, told):
    assert ("3 equal results" in shown(io.StringIO(), loop_limit=limit)) is told
    assert "order of calls" not in shown(io.StringIO())
