"""Reads a bracketed value of which only a judge can say where it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from forge.dialects.cursor import Cursor, Need
from forge.dialects.json_lexer import Event, JsonLexer
from forge.dialects.literals import Literals

R = TypeVar("R")
Attempt: TypeAlias = Callable[[int, JsonLexer | None, bool], R | None]
"""Judges the text up to an offset: (stop, lexer, explicit). The lexer is None where the brackets balance;
``explicit`` says that a mark ends the value, not the end of the reply. On success it moves the cursor."""

_FREE_ATTEMPTS = 8


class _Budget:
    """Judging costs the whole text so far: after a few tries only when it has doubled."""

    def __init__(self) -> None:
        self.tries = 0
        self.last = 0

    @property
    def passes(self) -> int:
        """How many further closers are not worth a look."""
        return 0 if self.tries < _FREE_ATTEMPTS else 1 << min(self.tries - _FREE_ATTEMPTS, 40)

    def spend(self, size: int) -> bool:
        self.tries += 1
        if self.tries > _FREE_ATTEMPTS and size < 2 * self.last:
            return False
        self.last = size
        return True


def delimited(
    cur: Cursor,
    attempt: Attempt[R],
    marks: Literals | None,
    *,
    stop_at_tags: bool = False,
    closer: str = "}",
    never_before: str = "",
) -> Need[R | Literal["cut_off", "unreadable"]]:
    """Find where the value that begins here ends, as ``attempt`` judges.

    An end right before one of the characters ``never_before`` is none. If the value cannot be read the cursor
    stands behind what was looked at.
    """
    start = scan = cur.pos
    lexer = JsonLexer(marks, stop_at_tags=stop_at_tags, source=closer == ")")
    closings, markings = _Budget(), _Budget()
    while True:
        text, base = cur.tape.window(scan)
        at, event = lexer.run(text, scan - base, final=cur.tape.closed)
        scan = base + at
        cur.reach = max(cur.reach, scan)
        if event is Event.MORE:
            if cur.tape.closed:
                return _at_end(cur, attempt(cur.tape.end, lexer, False))
            yield from cur.more()
            continue
        balanced = event is Event.CLOSED
        budget = closings if balanced else markings
        result = attempt(scan, None if balanced else lexer, True) if budget.spend(scan - start) else None
        if result is not None and not (balanced and never_before and (yield from _before(cur, never_before))):
            return result
        cur.pos = scan
        if (yield from _separate(cur, marks)) if balanced else not lexer.in_string:
            cur.pos = scan
            return "unreadable"
        if balanced:
            lexer.reopen(closer, budget.passes)
        else:
            scan += len(lexer.mark)


def _at_end(cur: Cursor, result: R | None) -> R | Literal["cut_off"]:
    """What a value is that nothing ended: cut off as well where too much was read to the end and read again."""
    rereads, end = cur.tape.rereads, cur.tape.end
    cur.reach = end
    if result is not None:
        rereads.again(end - cur.pos)
        if not rereads.too_many(end):
            return result
    cur.pos = end
    return "cut_off"


def _before(cur: Cursor, chars: str) -> Need[bool]:
    following = yield from cur.peek()
    return following != "" and following in chars


def _separate(cur: Cursor, marks: Literals | None) -> Need[bool]:
    """Whether what follows a closed but unreadable value is plainly something else."""
    gap = yield from cur.space()
    if "\n" in gap or (yield from cur.at_end()) or (yield from cur.peek()) in "{[":
        return True
    return marks is not None and (yield from cur.sees(marks)) is not None
