"""Argument values that stand as plain text between tags: verbatim, whatever they contain."""

from __future__ import annotations

from functools import lru_cache

from forge.dialects.cursor import Cursor, Need
from forge.dialects.literals import Literals

_CDATA = Literals(("<![CDATA[",))
_CDATA_END = Literals(("]]>",))


@lru_cache(maxsize=256)
def _union(*sets: Literals) -> Literals:
    return Literals(word for words in sets for word in words.words)


def value_text(
    cur: Cursor, closers: Literals, followers: Literals, ends: Literals, nested: Literals | None = None
) -> Need[str | None]:
    """Read a value up to its closing tag; None if the reply ends first.

    A closing tag ends the value only if what follows it goes on with the call: one of ``followers`` (the next
    value's tag, the call's end) or ``ends`` (the wrapper's end), or the end of the reply. Without a closing tag
    the value ends before such a tag. ``nested`` are opening tags that a closing tag inside the value may belong
    to. One leading and one trailing line break are not part of the value.
    """
    yield from cur.run(_NOTHING)
    if (yield from cur.literal(_CDATA)) is not None:
        start = cur.pos
        stop, found = yield from cur.until(_CDATA_END)
        if found is None:
            return None
        text = cur.tape.slice(start, stop)
        yield from cur.space()
        yield from cur.literal(closers)
        return text
    start = cur.pos
    stops = _union(closers, followers, ends) if nested is None else _union(closers, followers, ends, nested)
    last_close = -1
    depth = 0
    while True:
        at, found = yield from cur.until(stops)
        if found is None:
            return None
        behind = cur.pos
        if nested is not None and found in nested.words and found not in followers.words:
            depth += 1
            continue
        if found in closers.words:
            if depth:
                depth -= 1
                last_close = at
                continue
            if (yield from _goes_on(cur, followers, ends)):
                cur.pos = behind
                return _stripped(cur.tape.slice(start, at))
            cur.pos = behind
            continue
        if (yield from _ends_here(cur, found, followers, ends)):
            cur.pos = at
            if last_close >= 0 and cur.tape.slice(last_close, at).partition(">")[2].isspace():
                return _stripped(cur.tape.slice(start, last_close))
            return _stripped(cur.tape.slice(start, at))
        cur.pos = behind


def _goes_on(cur: Cursor, followers: Literals, ends: Literals) -> Need[bool]:
    yield from cur.space()
    if (yield from cur.at_end()):
        return True
    if (yield from cur.sees(followers)) is not None:
        return True
    return (yield from cur.sees(ends)) is not None


def _ends_here(cur: Cursor, found: str, followers: Literals, ends: Literals) -> Need[bool]:
    """Whether a tag that was found without a closing tag before it ends the value."""
    if found in ends.words and found not in followers.words:
        yield from cur.space()
        return (yield from cur.at_end()) or (yield from cur.peek()) == "<"
    return True


def _stripped(text: str) -> str:
    text = text[1:] if text[:1] == "\n" else text[2:] if text[:2] == "\r\n" else text
    return text[:-2] if text[-2:] == "\r\n" else text[:-1] if text[-1:] == "\n" else text
