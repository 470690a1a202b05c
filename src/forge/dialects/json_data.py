"""JSON that is data: shown as it comes, and nothing inside of it is a call."""

from __future__ import annotations

import re

from forge.dialects.candidate import Candidate
from forge.dialects.cursor import Need

_INSIDE = r"(?:[^\"\\\n]++|\\.)*+"
_FLAT = re.compile(rf"(?:[\s:,]++|\"{_INSIDE}\"|-?\d[\d.eE+-]*+|true|false|null)*+")
"""What stands between brackets in valid JSON."""
_STRING = re.compile(_INSIDE)
_OPENERS = re.compile(r"[\[{]++")
_CLOSERS = re.compile(r"[\]}]++")
_WORDS = ("true", "false", "null")


def json_data(cur: Candidate) -> Need[bool]:
    """Show the JSON value whose opening bracket stands here, up to where it closes or stops being valid JSON.

    Only what valid JSON begins with is taken as data: False if that is nothing but the bracket.
    """
    start = cur.pos
    depth, in_string = 0, False
    while True:
        text, base = cur.tape.window(cur.pos)
        at, depth, in_string, ended = _pass(text, cur.pos - base, depth, in_string=in_string)
        cur.pos = base + at
        if cur.pos > start + 1:
            cur.show(cur.pos)
        if ended or cur.tape.closed:
            break
        yield from cur.more()
    if cur.done == cur.start:
        cur.pos = start
        return False
    cur.pos = cur.done
    return True


def _pass(text: str, at: int, depth: int, *, in_string: bool) -> tuple[int, int, bool, bool]:
    """Go on through ``text``: where it came to, the brackets open there, whether in a string, whether it ended."""
    while True:
        if not in_string:
            match = _FLAT.match(text, at)
            assert match is not None
            at = match.end()
        if at >= len(text):
            return at, depth, in_string, False
        if in_string or text[at] == '"':
            match = _STRING.match(text, at if in_string else at + 1)
            assert match is not None
            at = match.end()
            if at >= len(text) or (text[at] == "\\" and at + 1 == len(text)):
                return at, depth, True, False
            if text[at] != '"':  # a raw line break: no JSON string
                return at, depth, True, True
            at, in_string = at + 1, False
            continue
        opened = _OPENERS.match(text, at)
        if opened is not None:
            at, depth = opened.end(), depth + len(opened.group())
            continue
        closed = _CLOSERS.match(text, at)
        if closed is None:
            rest = text[at : at + 5]
            waits = at + len(rest) == len(text) and (
                rest == "-" or any(word.startswith(rest) for word in _WORDS)
            )
            return at, depth, False, not waits
        if len(closed.group()) >= depth:
            return at + depth, 0, False, True
        at, depth = closed.end(), depth - len(closed.group())
