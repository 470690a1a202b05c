"""The values of a call that is written as an element: plain text between tags, whatever the text contains."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from forge.dialects.candidate import Candidate
from forge.dialects.cursor import SPACE, Need
from forge.dialects.literals import Literals, union
from forge.dialects.marks import CHAT_TOKENS, END_TAGS
from forge.dialects.verbatim import WRAPPERS, Nested, ends_call, goes_on, stripped

TAG_END = Literals((">", "/>"))
TAG_REST = re.compile(r"([^<>\n\"'“/{]++)>")
NAME_END = re.compile(r"[^<>\n\"'/{]*")
_WRAPPER_ENDS = Literals(END_TAGS)
OUTER = Literals((*END_TAGS, *CHAT_TOKENS, "</s>", "```"))
"""What may stand right behind a call whose own end tag is missing."""
_ATTRIBUTES = re.compile(r"[^<>\n]*")

_INDENT = 64


class Words(Struct, frozen=True, eq=False):
    """The tags of one prefix."""

    opens: Literals
    closes: Literals
    ends: Literals
    heads: Literals
    steps: Literals
    """What a call goes on with: the tags of ``opens``, ``closes`` and ``ends``."""


class Place(NamedTuple):
    """Where a value stands: in which call, behind which key, the values before it, and what ends that call."""

    call: str
    key: str
    values: dict[str, str]
    ends: frozenset[str]


def parameter_name(cur: Candidate, typed: dict[str, bool]) -> Need[str]:
    """The key in a value's tag; notes in ``typed`` what the tag says about its type. "" if it cannot be read."""
    usual = cur.matched(TAG_REST)
    if usual is not None:
        return usual.group(1).strip()
    quote = yield from cur.peek()
    if quote and quote in "\"'“":
        key = (yield from cur.attribute()) or ""
    else:
        key = (yield from cur.run(NAME_END)).strip().strip("\"'")
    rest = yield from cur.run(_ATTRIBUTES)
    if "string=" in rest:
        typed[key] = "true" in rest
    return key if (yield from cur.literal(TAG_END)) == ">" else ""


def element_value(cur: Candidate, words: Words, place: Place, wrapper_end: str | None) -> Need[str | None]:
    """Read a value up to its end tag. Tags inside of it that open and close are part of it.

    An end tag counts if the call goes on behind it. A missing end tag is forgiven before the call's end and before
    the next parameter (:func:`_next_parameter`). Where the reply ends right there, that end must be the outermost
    one: otherwise several tags are missing at once, and the one found may well stand in a value that was cut off.
    """
    start = cur.pos
    stops = union(words.opens, words.closes, words.ends, words.heads, WRAPPERS, _WRAPPER_ENDS)
    goes = union(words.opens, words.closes, words.ends, OUTER)
    idle = _idle(words.closes, goes)
    nested = _Nested(words)
    inner = 0
    last_close = -1
    while True:
        if not inner:
            cur.matched(idle)
        at, found = yield from cur.until(stops)
        if found is None:
            return None
        behind = cur.pos
        ended = False
        if found in words.closes.words:
            if inner:
                inner -= 1
                last_close = at
            else:
                ended = yield from _ends_value(cur, start, at, goes)
                cur.pos = behind
        elif found in words.opens.words:
            ended = not nested.calls and (yield from _next_parameter(cur, words, place, start, at))
            inner += not ended
            cur.pos = at if ended else behind
        elif not nested.takes(found):
            around = found not in place.ends  # and not the call's own
            ended = not (around and _within_line(cur, start, at)) and (
                yield from _ends_call(cur, words, found, wrapper_end, around=around)
            )
            if ended and nested.seen and (yield from cur.at_end()):
                ended = False  # the markup before may go on in what was cut off
            cur.pos = at if ended else behind
        if ended:
            text = cur.tape.slice(start, at)
            if last_close >= 0 and found not in words.closes.words:
                tail = text[last_close - start :]
                if not tail.partition(">")[2].strip():
                    text = text[: last_close - start]
            return stripped(text)


class _Nested(Nested):
    """Calls inside of a value as well: any of their end tags may end them."""

    __slots__ = ("calls", "seen", "words")

    def __init__(self, words: Words) -> None:
        super().__init__()
        self.words = words
        self.calls = 0
        self.seen = False
        """The value holds markup of calls."""

    def takes(self, tag: str) -> bool:
        """Note ``tag``; whether it is part of the value."""
        if super().takes(tag):
            self.seen = True
            return True
        if tag in self.words.heads.words:
            self.calls += 1
            self.seen = True
            return True
        ends = self.calls > 0 and tag in self.words.ends.words
        self.calls -= ends
        return ends


@cache
def _idle(closes: Literals, follow: Literals) -> re.Pattern[str]:
    """Text in which nothing ends: without tags, but for end tags behind which the call certainly does not go on."""
    behind = rf"{SPACE.pattern}+(?:[{re.escape(follow.starts)}]|\Z)"
    return re.compile(rf"(?:[^<\[]++|{closes.pattern.pattern}(?!{behind}))*+")


def _ends_value(cur: Candidate, start: int, at: int, goes: Literals) -> Need[bool]:
    """Whether the value's own end tag at ``at``, behind which the cursor stands, ends it."""
    if not (yield from goes_on(cur, goes)):
        return False
    # Where the reply ends behind a tag within a line, the value may well have gone on.
    return not ((yield from cur.at_end()) and _within_line(cur, start, at))


def _ends_call(
    cur: Candidate, words: Words, found: str, wrapper_end: str | None, *, around: bool
) -> Need[bool]:
    """Whether the end tag ``found``, which comes before the value's own, ends the call or what is ``around`` it."""
    if not (yield from ends_call(cur, words.closes)):
        return False
    if not (yield from cur.at_end()):
        return not around or wrapper_end is None or found == wrapper_end
    return found == wrapper_end if wrapper_end is not None else found in words.ends.words


def _next_parameter(cur: Candidate, words: Words, place: Place, start: int, at: int) -> Need[bool]:
    """Whether the tag that begins at ``at`` is the call's next parameter; the cursor stands in it.

    The end tag of the value from ``start`` to ``at`` is missing then. Otherwise the tag is part of the value: where
    its parameter was not declared or was given already, where it does not stand on a line of its own although the
    value began on a new one, and where it is closed at once (the text names the tag).
    """
    tool = cur.tools.get(place.call)
    key = yield from parameter_name(cur, {})
    if tool is None or key not in cur.tools.parameters(tool) or key in place.values:
        return False
    if cur.tape.slice(start, start + 1) in ("\n", "\r"):
        behind = yield from cur.peek()
        if _within_line(cur, start, at) or behind not in ("\n", "\r"):
            return False
    if key == place.key and (at - start > _INDENT or cur.tape.slice(start, at).strip()):
        return False  # else it was written twice
    yield from cur.space()
    return (yield from cur.sees(words.closes)) is None


def _within_line(cur: Candidate, start: int, at: int) -> bool:
    """Whether the tag at ``at`` stands within a line although the value began on a line of its own."""
    if cur.tape.slice(start, start + 1) not in ("\n", "\r"):
        return False
    return cur.tape.slice(max(start, at - _INDENT), at).rstrip(" \t")[-1:] != "\n"
