"""Calls between special tokens: DeepSeek V3 to V3.1, Kimi K2, Step 3, and Kimi K3's element tokens.

A section token only frames calls and is dropped; the call's own token begins a candidate. Servers and distills
spell the tokens with ASCII bars, blanks or underscores and lose some of them, so every part is optional that is
not needed to tell where the arguments are.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.elements import ELEMENT_HEADS, element
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals, spellings
from forge.dialects.marks import CHAT_TOKENS
from forge.dialects.notation import Notation, Opener, anywhere

_SECTION = Literals(
    (
        *spellings("<|tool_calls_begin|>"),
        *spellings("<|tool_calls|>"),
        *("<|tool_calls_section_begin|>", "<|tool_calls_section|>", "<|tool_call_section_begin|>"),
    )
)
_SECTION_END = Literals(
    (*spellings("<|tool_calls_end|>"), "<|tool_calls_section_end|>", "<|tool_call_section_end|>")
)
_BEGIN = Literals((*spellings("<|tool_call_begin|>"), "<|tool_call_start|>"))
_END = Literals((*spellings("<|tool_call_end|>"), "<|tool_call_argument_end|>"))
_TOOL_SEP = spellings("<|tool_sep|>")
_SEPARATOR = Literals((*_TOOL_SEP, "<|tool_call_argument_begin|>", "<|tool_argument_begin|>"))
_OPENERS = _SECTION | _BEGIN
_FRAME = _OPENERS | _SECTION_END
_STOPS = Literals(
    (*_SEPARATOR.words, *_END.words, *_SECTION_END.words, *_BEGIN.words, *CHAT_TOKENS, "{", "```")
)
_MARKS = Literals((*_END.words, *_SECTION_END.words, *_BEGIN.words, *CHAT_TOKENS, "\n```"))
_FENCE = Literals(("```",))
_WORD = re.compile(r"[A-Za-z0-9_+-]*")
_HEADER = 400
"""A call's type and name are not longer than this."""


def _section(cur: Candidate) -> Generator[None, None, bool]:
    """Section and call tokens, with calls between them. Tokens alone frame nothing and are dropped."""
    while True:
        gap = cur.pos
        yield from cur.space()
        token = yield from cur.literal(_FRAME)
        if token in _SECTION_END.words:
            return True
        first = yield from cur.peek()
        if token is None and (cur.anything or not (first.isalpha() or first in ("_", "<"))):
            cur.pos = gap
            return True
        if token in _SECTION.words and (not first or (yield from _only_tokens(cur))):
            continue
        start = cur.pos
        if not (yield from _call(cur, start)):
            cur.pos = start
            return cur.anything
        cur.flush()


def _only_tokens(cur: Candidate) -> Need[bool]:
    start = cur.pos
    yield from cur.space()
    token = yield from cur.sees(_FRAME)
    cur.pos = start
    return token is not None


def _call(cur: Candidate, start: int) -> Need[bool]:
    """One call: ``type SEP name``, ``name SEP`` or a name alone, then the arguments."""
    taken = yield from _element(cur, start)
    if taken is None:
        begin = cur.pos
        stop, found = yield from cur.until(_STOPS, _HEADER)
        name = cur.tape.slice(begin, stop).strip()
        if found is None:
            if (yield from cur.at_end()):
                cur.missed(Missed("cut_off", name or None), start)
                return True
            return False
        if found not in _SEPARATOR.words:
            cur.pos = stop
        elif name in ("function", "") and cur.tools.get(name) is None:
            taken = yield from _element(cur, start)
            name = "" if taken is not None else (yield from cur.name())
            yield from cur.literal(_SEPARATOR)
        if taken is None:
            taken = yield from _arguments(cur, name, start)
    if taken:
        yield from cur.space()
        if (yield from cur.literal(_FENCE)) is not None:
            yield from cur.space()
        yield from cur.literal(_END)
    return taken


def _element(cur: Candidate, start: int) -> Need[bool | None]:
    """A call written as an element between the tokens; None if there is none."""
    yield from cur.space()
    head = yield from cur.literal(ELEMENT_HEADS)
    return None if head is None else (yield from element(cur, head, start))


def _arguments(cur: Candidate, name: str, start: int) -> Need[bool]:
    if "\n" in name:
        first, _, rest = name.partition("\n")
        if rest.strip().lower() in ("json", ""):
            name = first.strip()
    yield from cur.space()
    yield from cur.literal(_FENCE)
    at = cur.pos
    if (yield from cur.run(_WORD)).lower() not in ("json", ""):
        cur.pos = at
    yield from cur.space()
    tool = cur.tools.get(name)
    if begins_arguments((yield from cur.peek())):
        return (yield from arguments(cur, name, start, _MARKS))
    if tool is not None and (yield from cur.sees(_END)) is not None:
        cur.found(Found(tool, {}), start)
    else:
        cur.missed(Missed("cut_off" if (yield from cur.at_end()) else "unreadable", name or None), start)
    return True


_OPEN = "<|open|>"
_SEP = Literals(("<|sep|>",))
_CLOSE = Literals(("<|close|>",))
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*\"([^\"]*)\"")


def _element_tokens(cur: Candidate) -> Generator[None, None, bool]:
    """Kimi K3: ``<|open|>call tool="N"<|sep|>`` with ``argument`` elements inside; other elements are markup."""
    start = cur.pos
    cur.pos += len(_OPEN)
    head = yield from _k3_tag(cur)
    if head is None:
        return False
    kind, attributes = head
    if kind == "think":
        yield from cur.pass_thinking(Literals(("<|close|>think<|sep|>",)))
        return True
    if kind != "call":
        return True
    name = attributes.get("tool", attributes.get("name", ""))
    values: dict[str, object] = {}
    while True:
        yield from cur.space()
        if (yield from cur.literal(_K3_OPEN)) is None:
            break
        inner = yield from _k3_tag(cur)
        if inner is None or inner[0] != "argument":
            break
        begin = cur.pos
        stop, found = yield from cur.until(_K3_ARGUMENT_END)
        if found is None:
            break
        values[inner[1].get("key", "")] = cur.tape.slice(begin, stop)
    tool = cur.tools.get(name)
    if (yield from cur.literal(_K3_CALL_END)) is None:
        cur.missed(Missed("cut_off", name), start)
    elif tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)
    return True


_K3_OPEN = Literals((_OPEN,))
_K3_ARGUMENT_END = Literals(("<|close|>argument<|sep|>",))
_K3_CALL_END = Literals(("<|close|>call<|sep|>",))


def _k3_tag(cur: Candidate) -> Need[tuple[str, dict[str, str]] | None]:
    begin = cur.pos
    stop, found = yield from cur.until(_SEP, _HEADER)
    if found is None:
        return None
    text = cur.tape.slice(begin, stop)
    return text.partition(" ")[0], dict(_ATTRIBUTE.findall(text))


def _closed(cur: Candidate) -> Generator[None, None, bool]:
    yield from cur.literal(_CLOSE)
    return (yield from _k3_tag(cur)) is not None


SECTIONS = (
    Notation(
        name="sections",
        title="Section and call tokens",
        seen_in="DeepSeek V3, R1, V3.1; Kimi K2; Step 3",
        openers=(
            *anywhere(*_OPENERS.words, *(f"function{word}" for word in _TOOL_SEP)),
            *(Opener(word, named=True) for word in _TOOL_SEP),
        ),
        read=_section,
        example="<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
        '```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    Notation(
        name="kimi_k3",
        title="Kimi K3 element tokens",
        seen_in="Kimi K3",
        openers=anywhere(_OPEN),
        read=_element_tokens,
        example='<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
        '<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    Notation(
        name="kimi_k3 end",
        title="Kimi K3 closing element",
        seen_in="Kimi K3",
        openers=anywhere("<|close|>"),
        read=_closed,
        quotable=False,
    ),
)
