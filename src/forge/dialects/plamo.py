"""PLaMo 3: requests, request, name and arguments, each between a begin and an end mark."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals
from forge.dialects.marks import CHAT_TOKENS
from forge.dialects.notation import Notation, anywhere


def _mark(side: str, word: str) -> str:
    return f"<|plamo:{side}_{word}:plamo|>"


_OPENERS = Literals((_mark("begin", "tool_requests"), _mark("begin", "tool_request")))
_NAME = Literals((_mark("begin", "tool_name"),))
_NAME_END = Literals((_mark("end", "tool_name"),))
_ARGUMENTS = Literals((_mark("begin", "tool_arguments"),))
_MESSAGE = Literals(("<|plamo:msg|>",))
_ENDS = Literals(
    (_mark("end", "tool_arguments"), _mark("end", "tool_request"), _mark("end", "tool_requests"))
)
_FRAME = _OPENERS | _ENDS
_MARKS = _ENDS | Literals(CHAT_TOKENS)
_LONGEST_NAME = 400


def _read(cur: Candidate) -> Generator[None, None, bool]:
    while True:
        gap = cur.pos
        yield from cur.space()
        start = cur.pos
        if (yield from cur.literal(_FRAME)) is not None:
            continue
        if (yield from cur.at_end()):
            if not cur.anything:
                cur.missed(Missed("cut_off"), cur.start)
            return True
        if (yield from cur.literal(_NAME)) is None:
            cur.pos = gap
            return cur.anything
        yield from _call(cur, start)
        if cur.hopeless:
            yield from cur.until(_ENDS)
            return True
        cur.flush()


def _call(cur: Candidate, start: int) -> Need[None]:
    begin = cur.pos
    stop, found = yield from cur.until(_NAME_END, _LONGEST_NAME)
    name = cur.tape.slice(begin, stop).strip()
    yield from cur.space()
    if found is None or (yield from cur.literal(_ARGUMENTS)) is None:
        cur.missed(Missed("cut_off" if (yield from cur.at_end()) else "unreadable", name), start)
        return
    yield from cur.space()
    yield from cur.literal(_MESSAGE)
    yield from cur.space()
    if begins_arguments((yield from cur.peek())):
        yield from arguments(cur, name, start, _MARKS)
    else:
        cur.missed(Missed("cut_off" if (yield from cur.at_end()) else "unreadable", name), start)


PLAMO = (
    Notation(
        name="plamo",
        title="PLaMo 3 marks",
        seen_in="PLaMo 3",
        openers=anywhere(*_OPENERS.words),
        read=_read,
        example=f"{_mark('begin', 'tool_requests')}{_mark('begin', 'tool_request')}{_mark('begin', 'tool_name')}"
        f"get_weather{_mark('end', 'tool_name')}{_mark('begin', 'tool_arguments')}"
        f'{{"city": "Oslo"}}{_mark("end", "tool_arguments")}{_mark("end", "tool_request")}'
        f"{_mark('end', 'tool_requests')}",
    ),
)
