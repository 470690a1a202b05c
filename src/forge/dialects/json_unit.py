"""Reads one JSON value off the tape, as a model writes it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from forge.core.ledger import Fix, Risk
from forge.dialects.cursor import Cursor, Need
from forge.dialects.delimited import delimited
from forge.dialects.json_lexer import JsonLexer
from forge.dialects.literals import Literals
from forge.repair.quotes import QUOTES
from forge.repair.tolerant import read_json, read_valid

_SPARE = "}])｝］ \t\r\n,;"
"""What may stand behind a value by mistake without changing it."""


class JsonUnit(NamedTuple):
    """One value. ``open`` counts the closers that were missing: so many containers, from the outermost in along
    the last members, were still open where the text ended.
    """

    state: Literal["read", "unreadable", "cut_off"]
    value: Any = None
    fixes: tuple[Fix, ...] = ()
    open: int = 0


UNREADABLE = JsonUnit("unreadable")
CUT_OFF = JsonUnit("cut_off")


def json_unit(cur: Cursor, marks: Literals | None = None, *, stop_at_tags: bool = False) -> Need[JsonUnit]:
    """Read the value that begins here.

    ``marks`` are strings that may end the value (an end tag): where one stands, missing closers are forgiven
    and the last scalar is trusted. ``stop_at_tags`` gives up at ``<`` outside of strings, for values that
    nothing delimits. Afterwards the cursor stands behind the value; behind what was looked at if it is
    unreadable; at the end of the reply if it was cut off.
    """
    start = cur.pos
    text, base = cur.tape.window(start)
    whole = read_valid(text, start - base)
    if whole is not None:  # the usual case: nothing has to be found out
        cur.pos = base + whole[1]
        return JsonUnit("read", whole[0])

    # A value that is valid as it stands ends nowhere in what has arrived so far.
    seen = base + len(text) if text[start - base : start - base + 1] in ("{", "[") else start

    def attempt(stop: int, lexer: JsonLexer | None, explicit: bool) -> JsonUnit | None:
        return _attempt(cur, start, stop, lexer, explicit=explicit, broken=stop <= seen)

    unit = yield from delimited(cur, attempt, marks, stop_at_tags=stop_at_tags)
    if isinstance(unit, JsonUnit):
        return unit
    return CUT_OFF if unit == "cut_off" else UNREADABLE


def _attempt(
    cur: Cursor, start: int, stop: int, lexer: JsonLexer | None, *, explicit: bool, broken: bool
) -> JsonUnit | None:
    """Read the text from ``start`` to ``stop``; at a mark or at the end also with the missing closers added."""
    text = cur.tape.slice(start, stop)
    if lexer is not None and lexer.in_string and not _may_end(text):
        return None
    reading = read_json(text, 0, keys=cur.tools.keys, broken=broken)
    if reading.complete and reading.end and (reading.closed or lexer is not None):
        if explicit:
            if not text[reading.end :].strip(_SPARE):
                cur.pos = stop
                return JsonUnit("read", reading.value, reading.fixes)
        else:
            cur.pos = start + reading.end
            return JsonUnit("read", reading.value, reading.fixes, 0 if reading.closed else 1)
    if text.startswith("{{"):
        unit = _doubled(cur, text, stop)
        if unit is not None:
            return unit
    if lexer is None or lexer.in_string or lexer.lost or not lexer.stack:
        return None
    if reading.in_string or reading.fault == "unreadable":
        return None
    return _closed(cur, text, stop, lexer, explicit=explicit)


def _may_end(text: str) -> bool:
    """Whether a value that seems to end inside a string may be whole all the same, its quotes being broken.

    It is cut off inside the string unless it ends with a closer, or with a quote that does not open a string.
    """
    tail = text[-40:].rstrip()
    return tail[-1:] in _ENDS and not (tail[-1:] in QUOTES and tail[:-1].rstrip()[-1:] in _BEFORE_STRING)


_ENDS = frozenset("}])｝］" + "".join(QUOTES))
_BEFORE_STRING = frozenset(":：,，[{［｛(=")


def _closed(cur: Cursor, text: str, stop: int, lexer: JsonLexer, *, explicit: bool) -> JsonUnit | None:
    kept = text.rstrip()
    if not explicit and kept[-1:] not in ("}", "]", '"', "'"):
        return None
    if kept[-1:] in (":", "：", "{", "["):
        return None
    reading = read_json(kept + lexer.closers, 0, keys=cur.tools.keys)
    if not reading.complete or (not explicit and any(fix.risk is not Risk.SAFE for fix in reading.fixes)):
        return None
    cur.pos = stop
    fix = Fix(code="closers_added", after=lexer.closers)
    return JsonUnit("read", reading.value, (*reading.fixes, fix), 0 if explicit else len(lexer.stack))


def _doubled(cur: Cursor, text: str, stop: int) -> JsonUnit | None:
    """A template's doubled braces."""
    single = text.replace("{{", "{").replace("}}", "}")
    reading = read_json(single, 0, keys=cur.tools.keys)
    if not reading.complete or single[reading.end :].strip(_SPARE):
        return None
    cur.pos = stop
    return JsonUnit("read", reading.value, (*reading.fixes, Fix(code="doubled_braces", risk=Risk.RISKY)))
