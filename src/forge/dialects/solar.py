"""Solar Open 2: ``<|tool_call:start|>N`` and argument tokens, one call after another."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.literals import Literals
from forge.dialects.notation import Notation, anywhere

_START = Literals(("<|tool_call:start|>",))
_END = Literals(("<|tool_call:end|>",))
_ARGUMENT = Literals(("<|tool_arg:start|>",))
_VALUE = Literals(("<|tool_arg:value|>", "<|tool_arg:end|>", *_END.words))
_VALUE_END = Literals(("<|tool_arg:end|>", *_ARGUMENT.words, *_END.words))
_NAME_END = Literals(("\n", *_ARGUMENT.words, *_END.words))
_LONGEST_WORD = 400


def _read(cur: Candidate) -> Generator[None, None, bool]:
    while True:
        gap = cur.pos
        yield from cur.space()
        start = cur.pos
        if (yield from cur.literal(_START)) is None:
            cur.pos = gap
            return cur.anything
        if not (yield from _call(cur, start)):
            return cur.anything
        if cur.hopeless:
            yield from cur.until(_END)
            return True
        cur.flush()


def _call(cur: Candidate, start: int) -> Need[bool]:
    name_start = cur.pos
    stop, found = yield from cur.until(_NAME_END, _LONGEST_WORD)
    name = cur.tape.slice(name_start, stop).strip()
    if found != "\n":
        cur.pos = stop
    values = yield from _values(cur)
    if values is None:
        cur.missed(Missed("cut_off", name or None), start)
        return True
    tool = cur.tools.get(name)
    if tool is None:
        cur.missed(Missed("unknown_tool", name or None), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)
    return True


def _values(cur: Candidate) -> Need[dict[str, str] | None]:
    """The arguments up to the call's end; None if it never comes."""
    values: dict[str, str] = {}
    while True:
        yield from cur.space()
        if (yield from cur.literal(_END)) is not None:
            return values
        if (yield from cur.literal(_ARGUMENT)) is None:
            return None
        key_start = cur.pos
        stop, found = yield from cur.until(_VALUE, _LONGEST_WORD)
        if found != "<|tool_arg:value|>":
            return None
        key = cur.tape.slice(key_start, stop).strip()
        begin = cur.pos
        stop, found = yield from cur.until(_VALUE_END)
        if found is None:
            return None
        values[key] = cur.tape.slice(begin, stop)
        if found != "<|tool_arg:end|>":
            cur.pos = stop  # its own end token is missing


SOLAR = (
    Notation(
        name="solar",
        title="Solar Open 2 tokens",
        seen_in="Solar Open 2",
        openers=anywhere(*_START.words),
        read=_read,
        example="<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n"
        "<|tool_call:end|>",
    ),
)
