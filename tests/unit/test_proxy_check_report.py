import io
import json

import pytest

from forge.proxy.check_report import Finding, passed, show

FINDINGS = [
    Finding("model", "ok", "qwen [bold]x[/bold]"),
    Finding("tools", "weak", "calls as text", "makes them calls"),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(findings, out, **options):
    show(findings, out, as_json=options.get("as_json", False))
    return out.getvalue()


def test_one_line_each_where_nobody_looks():
    assert shown(FINDINGS, io.StringIO()).splitlines() == [
        "OK model: qwen [bold]x[/bold]",
        "WEAK tools: calls as text; Forge: makes them calls",
    ]


def test_a_table_in_a_terminal_takes_what_was_found_as_it_is():
    text = shown(FINDINGS, Terminal())
    for part in ("[bold]x[/bold]", "makes them calls", "WEAK"):
        assert part in text


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
def test_json_is_one_object(out):
    document = json.loads(shown(FINDINGS, out(), as_json=True))
    assert document["ok"] is True
    assert document["checks"][1]["forge"] == "makes them calls"


def test_only_errors_are_in_the_way():
    assert passed(FINDINGS)
    assert not passed([*FINDINGS, Finding("x", "error", "no")])
