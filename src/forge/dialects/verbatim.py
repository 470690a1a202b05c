"""Argument values that stand as plain text between tags: verbatim, whatever they contain."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from forge.dialects.cursor import Cursor, Need
from forge.dialects.literals import Literals, union
from forge.dialects.marks import TAG_NAMES

_CDATA = Literals(("<![CDATA[",))
_CDATA_END = Literals(("]]>",))


class ValueTags(Struct, frozen=True, eq=False):
    """The tags around a value: its own, the next value's (``followers``), and the wrappers' end tags."""

    openers: Literals
    closers: Literals
    followers: Literals
    ends: Literals


class Nested:
    """Wrappers that begin inside of a value: their end tags are part of it."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def takes(self, tag: str) -> bool:
        """Note ``tag``; whether it begins such a wrapper or ends one."""
        if tag in WRAPPERS.words:
            self._open[tag] = self._open.get(tag, 0) + 1
            return True
        opener = f"<{tag[2:]}"
        if not self._open.get(opener):
            return False
        self._open[opener] -= 1
        return True


WRAPPERS = Literals(f"<{name}>" for name in TAG_NAMES)


def value_text(cur: Cursor, tags: ValueTags, is_next: Callable[[], Need[bool]]) -> Need[str | None]:
    """Read a value up to its closing tag; None if the reply ends first.

    Tags inside of it that open and close are part of it. A closing tag ends the value only if what follows goes on
    with the call: the next value's tag, a wrapper's end, or the end of the reply. Without a closing tag the value ends
    before such a tag; ``is_next`` says of the next value's tag, behind which the cursor stands, whether it is that.
    One leading and one trailing line break are not part of the value.
    """
    start = cur.pos
    stops = union(tags.openers, tags.closers, tags.followers, tags.ends, WRAPPERS)
    nested, inner = Nested(), 0
    while True:
        at, found = yield from cur.until(stops)
        if found is None:
            return None
        behind = cur.pos
        if found in tags.closers.words:
            yield from cur.space()
            if inner and (yield from cur.sees(tags.closers)) is not None:
                inner -= 1
                cur.pos = behind
                continue
            ended = yield from goes_on(cur, union(tags.closers, tags.followers, tags.ends))
            cur.pos = behind
        elif found in tags.openers.words or nested.takes(found):
            inner += found in tags.openers.words
            continue
        else:
            ended = yield from is_next() if found in tags.followers.words else ends_call(cur, tags.closers)
            cur.pos = at if ended else behind
        if ended:
            return stripped(cur.tape.slice(start, at))


def goes_on(cur: Cursor, followers: Literals) -> Need[bool]:
    """Whether the reply ends here or one of ``followers`` comes next."""
    yield from cur.space()
    return (yield from cur.at_end()) or (yield from cur.sees(followers)) is not None


def ends_call(cur: Cursor, closers: Literals) -> Need[bool]:
    """Whether the end tag that was just taken is the call's.

    Not if the value's own end tag comes right behind, nor if a wrapper is opened there that holds no call.
    """
    yield from cur.space()
    if (yield from cur.peek()) not in ("", "<") or (yield from cur.sees(closers)) is not None:
        return False
    if (yield from cur.literal(WRAPPERS)) is None:
        return True
    yield from cur.space()
    if (yield from cur.peek()) in ("", "{", "[", "<"):
        return True
    return cur.tools.get((yield from cur.name())) is not None


def cdata(cur: Cursor, closers: Literals) -> Need[str | None]:
    """Read a CDATA section and the closing tag behind it; None if there is none here."""
    start = cur.pos
    yield from cur.space()
    if (yield from cur.literal(_CDATA)) is None:
        cur.pos = start
        return None
    begin = cur.pos
    stop, found = yield from cur.until(_CDATA_END)
    if found is None:
        return None
    yield from cur.space()
    yield from cur.literal(closers)
    return cur.tape.slice(begin, stop)


def stripped(text: str) -> str:
    """A value without one line break at either end."""
    text = text[1:] if text[:1] == "\n" else text[2:] if text[:2] == "\r\n" else text
    return text[:-2] if text[-2:] == "\r\n" else text[:-1] if text[-1:] == "\n" else text
