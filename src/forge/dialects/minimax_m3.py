"""MiniMax M3: every tag carries the model's own mark, and a parameter's name is the tag itself.

``]<]minimax[>[<invoke name="N">]<]minimax[>[<k>v]<]minimax[>[</k>]<]minimax[>[</invoke>``; objects and lists are
tags inside of tags, a list's items are called ``item``.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.literals import Literals, literals
from forge.dialects.notation import Notation, anywhere

_MARK = "]<]minimax[>["
_MARKED = Literals((_MARK,))
_BLOCK = Literals((f"{_MARK}<tool_call>", "<tool_call>"))
_BLOCK_END = Literals(("</tool_call>",))
_INVOKE = Literals(("<invoke name=",))
_INVOKE_END = Literals(("</invoke>",))
_GT = Literals((">",))
_TAG = re.compile(r"[^<>/\s\]]*")
_LT = Literals(("<",))
_END = Literals(("</",))
_DEEPEST = 32


def _read(cur: Candidate) -> Generator[None, None, bool]:
    yield from cur.literal(_BLOCK)
    while True:
        gap = cur.pos
        yield from cur.space()
        start = cur.pos
        yield from cur.literal(_MARKED)
        yield from cur.space()
        if (yield from cur.literal(_BLOCK_END)) is not None:
            return True
        if (yield from cur.at_end()):
            if not cur.anything:
                cur.missed(Missed("cut_off"), cur.start)
            return True
        if (yield from cur.literal(_INVOKE)) is None:
            cur.pos = gap
            return cur.anything
        yield from _call(cur, start)
        if cur.hopeless:
            yield from cur.until(_BLOCK_END)
            return True
        cur.flush()


def _call(cur: Candidate, start: int) -> Need[None]:
    name = (yield from cur.attribute()) or ""
    yield from cur.space()
    values: Any = None
    if name and (yield from cur.literal(_GT)) is not None:
        values = yield from _members(cur, 0)
    if values is None or (yield from cur.literal(_INVOKE_END)) is None:
        cur.missed(Missed("cut_off" if (yield from cur.at_end()) else "unreadable", name or None), start)
        return
    tool = cur.tools.get(name)
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)


def _members(cur: Candidate, depth: int) -> Need[dict[str, Any] | None]:
    """Tags and their values up to an end tag's mark, behind which the cursor stops; None if one cannot be read."""
    values: dict[str, Any] = {}
    while True:
        yield from cur.space()
        yield from cur.literal(_MARKED)
        yield from cur.space()
        if (yield from cur.sees(_END)) is not None:
            return values
        if (yield from cur.literal(_LT)) is None:
            return None
        key = yield from cur.run(_TAG)
        if not key or (yield from cur.literal(_GT)) is None:
            return None
        value = yield from _value(cur, key, depth)
        if value is None:
            return None
        values[key] = [*values[key], value[0]] if key == "item" and key in values else _first(key, value[0])


def _first(key: str, value: Any) -> Any:
    return [value] if key == "item" else value


def _value(cur: Candidate, key: str, depth: int) -> Need[tuple[Any] | None]:
    """The value of tag ``key``, in a tuple: text up to its marked end tag, or the tags inside of it."""
    begin = cur.pos
    end = literals(f"{_MARK}</{key}>")
    yield from cur.space()
    nested = (yield from cur.sees(end)) is None and (yield from cur.sees(_MARKED)) is not None
    if nested and depth < _DEEPEST:
        inner = yield from _members(cur, depth + 1)
        if inner is None or (yield from cur.literal(literals(f"</{key}>"))) is None:
            return None
        return (inner["item"] if inner.keys() == {"item"} else inner,)
    cur.pos = begin
    stop, found = yield from cur.until(end)
    return None if found is None else (cur.tape.slice(begin, stop),)


MINIMAX_M3 = (
    Notation(
        name="minimax_m3",
        title="MiniMax M3 marked tags",
        seen_in="MiniMax M3",
        openers=anywhere(_MARK, f"<tool_call>{_MARK}", f"<tool_call>\n{_MARK}"),
        read=_read,
        example=f'{_MARK}<tool_call>\n{_MARK}<invoke name="get_weather">\n{_MARK}<city>Oslo{_MARK}</city>\n'
        f"{_MARK}</invoke>\n{_MARK}</tool_call>",
    ),
)
