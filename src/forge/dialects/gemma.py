"""Gemma: ``call:N{k:<|"|>v<|"|>,n:1}`` with or without its tokens, and FunctionGemma's escape marks."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.literals import Literals
from forge.dialects.marks import CALL_END
from forge.dialects.notation import Notation, Opener, Where

_OPENERS = Literals(("<|tool_call>", "<start_function_call>"))
_CLOSERS = Literals(("<tool_call|>", "<end_function_call>", "<turn|>", "<|tool_call|>"))
GEMMA_CALL = Literals(("call:", "call "))
_PREFIX = Literals(("default_api:", "default_api.", ":"))
_MARKS = {
    '<|"|>': Literals(('<|"|>',)),
    "<escape>": Literals(("<escape>",)),
    '"': Literals(('"', "\\")),
    "'": Literals(("'", "\\")),
}
_QUOTES = Literals(_MARKS)
_KEY = re.compile(r"[^:{}\[\],<\"]*")
_SCALAR = re.compile(r"[^,{}\[\]<\"]*")
_WORDS = {"true": True, "false": False, "null": None, "None": None, "True": True, "False": False}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_DEEPEST = 48
_LONGEST_KEY = 400
_MISSING = object()
"""Stands for a value that cannot be read."""


def _read(cur: Candidate) -> Generator[None, None, bool]:
    opened = (yield from cur.literal(_OPENERS)) is not None
    while True:
        gap = cur.pos
        yield from cur.space()
        start = cur.pos
        if (yield from cur.literal(GEMMA_CALL)) is None:
            if opened and not cur.anything and (yield from cur.at_end()):
                cur.missed(Missed("cut_off"), start)
                return True
            cur.pos = gap
            return cur.anything
        if not (yield from gemma_call(cur, start)):
            return cur.anything
        cur.flush()
        behind = cur.pos
        yield from cur.space()
        if (yield from cur.literal(_CLOSERS)) is None:
            cur.pos = behind


def gemma_call(cur: Candidate, start: int) -> Need[bool]:
    """``N{k:v}`` behind ``call:``, which began at ``start``."""
    yield from cur.space()
    yield from cur.literal(_PREFIX)
    name = (yield from cur.name()).rstrip(":")
    if not name or (yield from cur.peek()) != "{":
        if name and (yield from cur.at_end()):
            cur.missed(Missed("cut_off", name), start)
            return True
        return False
    tool = cur.tools.get(name)
    value = yield from _object(cur, 0)
    if not isinstance(value, dict):
        cut = yield from cur.at_end()
        cur.missed(Missed("cut_off" if cut else "unreadable", name), start)
        return cut or tool is not None
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    else:
        cur.found(Found(tool, value), start)
    return True


def _value(cur: Candidate, depth: int) -> Need[object]:
    yield from cur.space()
    quote = yield from cur.literal(_QUOTES)
    if quote is not None:
        return (yield from _string(cur, quote))
    first = yield from cur.peek()
    if first in ("{", "[") and depth >= _DEEPEST:
        return _MISSING
    if first == "{":
        return (yield from _object(cur, depth + 1))
    if first == "[":
        return (yield from _array(cur, depth + 1))
    word = (yield from cur.run(_SCALAR)).strip()
    if not word or (yield from cur.at_end()):
        return _MISSING
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.match(word) and len(word) < 400:
        return float(word) if any(c in word for c in ".eE") else int(word)
    return word


def _string(cur: Candidate, quote: str) -> Need[object]:
    begin = cur.pos
    while True:
        stop, found = yield from cur.until(_MARKS[quote])
        if found is None:
            return _MISSING
        if found == "\\":
            yield from cur.peek()
            cur.pos += 1
            continue
        if len(quote) == 1:
            # A plain quote ends the string only where the object can go on.
            behind = cur.pos
            yield from cur.space()
            following = yield from cur.peek()
            cur.pos = behind
            if following not in ("", ",", "}", "]"):
                continue
            return _unescaped(cur.tape.slice(begin, stop))
        return cur.tape.slice(begin, stop)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([\"'\\/nrt])", lambda m: {"n": "\n", "r": "\r", "t": "\t"}.get(m[1], m[1]), text)


def _object(cur: Candidate, depth: int) -> Need[object]:
    cur.pos += 1
    found: dict[str, object] = {}
    while True:
        yield from cur.run(_COMMAS)
        first = yield from cur.peek()
        if first == "}":
            cur.pos += 1
            return found
        quote = yield from cur.literal(_QUOTES)
        if quote is not None:
            key = yield from _key_string(cur, quote)
        else:
            key = (yield from cur.run(_KEY)).strip()
        if not isinstance(key, str) or not key or len(key) > _LONGEST_KEY or (yield from cur.peek()) != ":":
            return _MISSING
        cur.pos += 1
        value = yield from _value(cur, depth)
        if value is _MISSING:
            return _MISSING
        found[key] = value


_COMMAS = re.compile(r"[\s,]*")


def _key_string(cur: Candidate, quote: str) -> Need[object]:
    begin = cur.pos
    stop, found = yield from cur.until(_MARKS[quote], _LONGEST_KEY)
    return cur.tape.slice(begin, stop) if found == quote else _MISSING


def _array(cur: Candidate, depth: int) -> Need[object]:
    cur.pos += 1
    found: list[object] = []
    while True:
        yield from cur.run(_COMMAS)
        if (yield from cur.peek()) == "]":
            cur.pos += 1
            return found
        value = yield from _value(cur, depth)
        if value is _MISSING:
            return _MISSING
        found.append(value)


def _bare(cur: Candidate) -> Generator[None, None, bool]:
    taken = yield from _read(cur)
    if not taken:
        return False
    start = cur.pos
    yield from cur.run(re.compile(r"[^\S\n]*"))
    following = yield from cur.peek()
    cur.pos = start
    return following in ("", "\n") or (yield from cur.sees(CALL_END)) is not None


GEMMA = (
    Notation(
        name="gemma",
        title="Gemma call tokens",
        seen_in="Gemma 4, FunctionGemma",
        openers=tuple(Opener(word) for word in _OPENERS.words),
        read=_read,
        example='<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    ),
    Notation(
        name="gemma_bare",
        title="Gemma call without its tokens",
        seen_in="Gemma 4",
        openers=(Opener("call:", Where.LINE),),
        read=_bare,
        example='call:get_weather{city:<|"|>Oslo<|"|>}',
    ),
)
