"""What ``check`` found: one finding a line, as a table in a terminal, as JSON when asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TextIO

State = Literal["ok", "weak", "error"]
_COLOURS: Final = {"ok": "green", "weak": "yellow", "error": "red"}
_WORDS: Final = {"ok": "OK", "weak": "WEAK", "error": "ERROR"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    ``state``: ``ok``; ``weak`` for what the backend lacks and Forge makes up for; ``error`` for what will not work.
    ``forge``: what Forge does about it, where it does something.
    """

    about: str
    state: State
    found: str
    forge: str = ""


def show(findings: Sequence[Finding], out: TextIO, *, as_json: bool) -> None:
    """Write the findings to ``out``."""
    if as_json:
        document = {"ok": passed(findings), "checks": [asdict(each) for each in findings]}
        out.write(json.dumps(document, ensure_ascii=False) + "\n")
    elif out.isatty():
        _show_table(findings, out)
    else:
        for each in findings:
            more = f"; Forge: {each.forge}" if each.forge else ""
            out.write(f"{_WORDS[each.state]} {each.about}: {each.found}{more}\n")
    out.flush()


def passed(findings: Sequence[Finding]) -> bool:
    """Whether nothing stands in the way."""
    return all(each.state != "error" for each in findings)


def _show_table(findings: Sequence[Finding], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    columns = ["", "check", "found"]
    explained = any(each.forge for each in findings)
    for name in [*columns, "what Forge does"] if explained else columns:
        table.add_column(name, overflow="fold")
    for each in findings:
        state = Text(_WORDS[each.state], style=_COLOURS[each.state])
        cells = [state, Text(each.about, style="cyan"), Text(each.found)]
        table.add_row(*cells, *([Text(each.forge)] if explained else []))
    Console(file=out).print(table)
