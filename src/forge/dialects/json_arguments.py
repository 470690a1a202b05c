"""The arguments of a call whose name stands outside of them: one JSON value."""

from __future__ import annotations

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_unit import JsonUnit, json_unit
from forge.dialects.literals import Literals

STARTS = '{[｛"“'
"""An object, an object in a list, or an object encoded as a string."""


def begins_arguments(char: str) -> bool:
    """Whether ``char`` (may be "") begins a JSON value that can be arguments."""
    return char != "" and char in STARTS


def arguments(cur: Candidate, name: str, start: int, marks: Literals) -> Need[bool]:
    """Read the arguments of ``name`` and report the call, which began at ``start``; always True.

    The same arguments printed twice in a row count once. Arguments that are not closed are cut off: nothing
    shows that they are whole.
    """
    tool = cur.tools.get(name)
    value = yield from json_unit(cur, marks)
    if value.state == "unreadable":
        cur.missed(Missed("unreadable", name), start)
    elif value.state == "cut_off" or value.open:
        cur.missed(Missed("cut_off", name), start)
    elif tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    else:
        cur.found(Found(tool, value.value, fixes=value.fixes), start)
        yield from _again(cur, value, marks)
    return True


def _again(cur: Candidate, value: JsonUnit, marks: Literals) -> Need[None]:
    cur.flush()
    start = cur.pos
    if (yield from cur.peek()) == "{":
        second = yield from json_unit(cur, marks)
        if second.state != "read" or second.value != value.value:
            cur.pos = start
