"""Reads the calls between a pair of marks, in whatever way they are written there."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from functools import cache

from forge.dialects.candidate import Candidate, Missed
from forge.dialects.cursor import BLANKS, Need
from forge.dialects.elements import ELEMENT_HEADS, plain_element
from forge.dialects.json_calls import plain_call
from forge.dialects.literals import Literals
from forge.dialects.marks import CHAT_TOKENS, END_TAGS, TAG_NAMES
from forge.dialects.notation import Quick, Reader
from forge.dialects.units import AFTER_CALL, SEPARATORS, unit
from forge.repair.tolerant import read_valid

_NOISE = Literals(
    ("```", *(f"<{name}>" for name in TAG_NAMES if name not in ("tool", "response", "json", "xml")))
)
_INFO = re.compile(r"\w*")
_BROKEN_WITHIN = 600
"""How far the end tag of a body that is no call is looked for."""


def wrapper(opens: Iterable[str], closes: Iterable[str], *, marked: bool = True) -> Reader:
    """A reader for calls between marks. ``marked``: the marks promise a call; without, the body may be data."""
    openers, closes = Literals(opens), tuple(closes)
    closers = Literals((*closes, *END_TAGS))
    marks = Literals((*closes, *openers.words, *END_TAGS, *CHAT_TOKENS, "</s>"))
    noise = _NOISE | openers

    def read(cur: Candidate) -> Generator[None, None, bool]:
        yield from cur.literal(openers)
        yield from cur.run(_repeated(openers))  # written twice, or very often
        return (yield from body(cur, noise, closers, marks, marked=marked))

    return read


def between(opens: Iterable[str], closes: Iterable[str]) -> Quick | None:
    """Takes one plain call between marks: a valid JSON object of the usual shape, or an element without markup."""
    openers, ends = Literals(opens), tuple(closes)
    if not ends:
        return None
    closers = Literals((*ends, *END_TAGS))

    def quick(cur: Candidate) -> bool:
        before, behind = _around(openers, closers)
        start, known = cur.pos, cur.pending
        if cur.matched(before) is None:
            return False
        text, base = cur.tape.window(cur.pos)
        if text.startswith("{", cur.pos - base):
            taken = _object(cur, text, base, behind)
        else:
            taken = plain_element(cur) and cur.matched(behind) is not None
        if not taken:
            cur.forget(known)
            cur.pos = start
        return taken

    return quick


def object_between(before: re.Pattern[str], behind: re.Pattern[str]) -> Quick:
    """Takes one plain call as a valid JSON object, which ``before`` matches up to and ``behind`` matches from."""

    def quick(cur: Candidate) -> bool:
        start = cur.pos
        if cur.matched(before) is not None and _object(cur, *cur.tape.window(cur.pos), behind):
            return True
        cur.pos = start
        return False

    return quick


def _object(cur: Candidate, text: str, base: int, behind: re.Pattern[str]) -> bool:
    start = cur.pos
    whole = read_valid(text, start - base)
    if whole is None:
        return False
    tail = behind.match(text, whole[1])
    found = plain_call(whole[0], cur.tools) if tail is not None else None
    if found is None or tail is None:
        return False
    cur.pos = base + whole[1]
    cur.found(found, start)
    cur.pos = base + tail.end()
    return True


@cache
def _around(openers: Literals, closers: Literals) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(rf"{openers.pattern.pattern}\s*+(?=\{{|{ELEMENT_HEADS.pattern.pattern})"),
        re.compile(rf"\s*+{closers.pattern.pattern}"),
    )


@cache
def _repeated(openers: Literals) -> re.Pattern[str]:
    # Where one opener begins another, a run of them cannot be told before it ends.
    apart = not any(word in openers.prefixes for word in openers.words)
    return re.compile(rf"(?:{openers.pattern.pattern})*+" if apart else "")


def body(cur: Candidate, noise: Literals, closers: Literals, marks: Literals, *, marked: bool) -> Need[bool]:
    """Calls up to one of ``closers``. False: what stands here is no call, and no broken one either."""
    while True:
        gap_start = cur.pos
        yield from cur.run(AFTER_CALL if cur.anything else SEPARATORS)
        if (yield from cur.at_end()):
            if not cur.anything and marked:
                cur.missed(Missed("cut_off"), cur.start)
            return cur.anything
        start = cur.pos
        if (yield from cur.literal(closers)) is not None:
            return cur.anything or marked
        if (yield from cur.literal(noise)) == "```":
            yield from cur.run(_INFO)
        if cur.pos > start:
            continue  # an opening tag written twice or around another one, a fence around the call
        if cur.hopeless:
            yield from cur.until(closers)
            return True
        if not (yield from unit(cur, marks, marked=marked)):
            cur.pos = start
            if cur.anything:
                cur.pos = gap_start
                return True
            return marked and (yield from _broken(cur, closers))
        cur.flush()


def _broken(cur: Candidate, closers: Literals) -> Need[bool]:
    """A body that is no call, but stands alone between its marks."""
    if not cur.context.at_line_start():
        return False
    start = cur.pos
    _, found = yield from cur.until(closers, _BROKEN_WITHIN)
    if found is None:
        return False
    stop = cur.pos
    yield from cur.run(BLANKS)
    if (yield from cur.peek()) not in ("", "\n", "<"):
        return False
    cur.pos = stop
    cur.missed(Missed("unreadable"), start)
    return True
