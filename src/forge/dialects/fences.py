"""Markdown code: a fence that holds nothing but calls is a call, every other code is text."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.between_marks import object_between
from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.literals import Literals, literals
from forge.dialects.marks import CHAT_TOKENS
from forge.dialects.notation import Notation, Opener, Where, anywhere
from forge.dialects.units import AFTER_CALL, SEPARATORS, unit
from forge.dialects.verbatim import stripped

_TICKS = re.compile(r"`*")
_INFO = re.compile(r"[^\n`]*")
_PROMISE = ("tool_call", "tool_calls", "tool_code", "tool", "tools", "function_call", "function", "functions")
_MAYBE = (
    "",
    "json",
    "jsonc",
    "json5",
    "xml",
    "html",
    "python",
    "py",
    "text",
    "plaintext",
    "txt",
    "javascript",
    "js",
    "plain",
)
_TOKENS = Literals((*CHAT_TOKENS, "</s>"))
_LONGEST_FENCE = 16
"""Further backticks of a fence are not counted."""
_TOOL_NAME = Literals(("TOOL_NAME:", "Tool_name:", "tool_name:"))
_BEGIN = Literals(("BEGIN_ARG:",))
_END_ARG = Literals(("\nEND_ARG", "END_ARG"))
_LINE = re.compile(r"[^\n]*")


_BEFORE_CALL = re.compile(rf"```(?:{'|'.join(filter(None, (*_PROMISE, *_MAYBE)))})?+\n\s*+(?={{)")


def _fence(cur: Candidate) -> Generator[None, None, bool]:
    ticks = yield from cur.run(_TICKS)
    info = (yield from cur.run(_INFO)).strip().lower()
    if (yield from cur.peek()) == "`":
        return False
    inside = cur.pos
    fence = literals(ticks[:_LONGEST_FENCE])  # only as many backticks as opened it close it
    if (info in _PROMISE or info in _MAYBE) and (yield from _promising(cur)):
        cur.hold = True
        if (yield from _calls(cur, fence, marked=info in _PROMISE, statements=info == "tool_code")):
            return True
        cur.forget()
    cur.pos = inside
    cur.show(inside)
    if (yield from cur.pass_text(literals(f"\n{ticks[:_LONGEST_FENCE]}"))) is not None:
        yield from cur.run(_TICKS)
        cur.show(cur.pos)
    return True


def _plain_fence(text: str, at: int) -> int:
    """The end of a block that cannot hold a call: its language or its first character says so."""
    empty = _EMPTY_BLOCKS.match(text, at)
    if empty is not None:
        return empty.end()
    head = _HEAD.match(text, at)
    if head is None:
        return -1
    ticks, info, first = head.groups()
    info = info.strip().lower()
    if (info in _PROMISE or info in _MAYBE) and (first.isalpha() or first in _CALL_FIRST):
        return -1
    close = text.find(f"\n{ticks[:_LONGEST_FENCE]}", head.end(2))
    if close < 0:
        return -1
    ticks_end = _TICKS.match(text, close + 1)
    return ticks_end.end() if ticks_end is not None else -1


_EMPTY_BLOCKS = re.compile(r"(?:```\w*+\n```\w*+\n(?=```\w*+\n```))++")
"""Blocks with nothing in them, each followed by another one."""
_HEAD = re.compile(r"(`{3,}+)([^\n`]*+)(?=\n[\s\u200b\u200c\u200d\u2060\ufeff]*+(.))", re.DOTALL)
_CALL_FIRST = "{[<>_｛［"


def _tildes(cur: Candidate) -> Generator[None, None, bool]:
    cur.pos += len("~~~")
    if (yield from cur.pass_text(_TILDE_END)) is not None:
        yield from cur.run(_TILDES)
        cur.show(cur.pos)
    return True


_TILDE_END = Literals(("\n~~~",))
_TILDES = re.compile(r"~*")


def _promising(cur: Candidate) -> Need[bool]:
    """Whether the fence's first character can begin a call at all."""
    yield from cur.space()
    first = yield from cur.peek()
    return first.isalpha() or (first != "" and first in _CALL_FIRST)


def _calls(cur: Candidate, fence: Literals, *, marked: bool, statements: bool = False) -> Need[bool]:
    """Nothing but calls up to the closing ``fence`` (or the end of the reply); with ``statements``, as a program."""
    while True:
        yield from cur.run(AFTER_CALL if cur.anything else SEPARATORS)
        if (yield from cur.at_end()):
            return cur.anything
        if (yield from cur.literal(fence)) is not None:
            return cur.anything
        if cur.anything and (yield from cur.literal(_TOKENS)) is not None:
            continue
        if statements and (yield from _statement(cur)):
            continue
        if not (yield from _one(cur, fence, marked=marked)):
            return False


def _statement(cur: Candidate) -> Need[bool]:
    """Skip what a program has around its calls: the target of an assignment, a result that is printed."""
    start = cur.pos
    word = yield from cur.name()
    yield from cur.space()
    if word == "print" and cur.anything and (yield from cur.literal(_PAREN)) is not None:
        yield from cur.name()
        if (yield from cur.literal(_CLOSING_PAREN)) is not None:
            return True
    elif word and (yield from cur.literal(_EQUALS)) == "=":
        return True
    cur.pos = start
    return False


_PAREN = Literals(("(",))
_CLOSING_PAREN = Literals((")",))
_EQUALS = Literals(("=", "=="))


def _one(cur: Candidate, fence: Literals, *, marked: bool) -> Need[bool]:
    start = cur.pos
    if (yield from cur.literal(_TOOL_NAME)) is not None:
        return (yield from _block(cur, start, fence))
    from forge.dialects.registry import native

    openers, notations = native()
    word = yield from cur.sees(openers)
    if word is not None:
        before = cur.anything
        quick = notations[word].quick
        taken = quick is not None and quick(cur)
        taken = taken or (yield from notations[word].read(cur))
        if taken and cur.pos > start and (cur.anything or before):
            return True
        cur.pos = start
    return (yield from unit(cur, fence | _TOKENS, marked=marked))


def _block(cur: Candidate, start: int, fence: Literals) -> Need[bool]:
    """Continue's block: TOOL_NAME and BEGIN_ARG lines."""
    name = (yield from cur.run(_LINE)).strip()
    tool = cur.tools.get(name)
    values: dict[str, str] = {}
    while True:
        yield from cur.space()
        if (yield from cur.literal(_BEGIN)) is None:
            break
        key = (yield from cur.run(_LINE)).strip()
        begin = cur.pos
        stop, found = yield from cur.until(_END_ARG)
        if found is None:
            cur.missed(Missed("cut_off", name), start)
            return True
        values[key] = stripped(cur.tape.slice(begin, stop) + ("\n" if found[0] == "\n" else ""))
    closed = (yield from cur.sees(fence)) is not None
    if not closed:  # what begins a mark at the end of the reply belongs to the block
        behind = cur.pos
        yield from cur.run(_LINE)
        if not (yield from cur.at_end()):
            cur.pos = behind
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    elif not closed and not (values and all(k in values for k in cur.tools.parameters(tool))):
        cur.missed(Missed("cut_off", name), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)
    return True


def _inline(cur: Candidate) -> Generator[None, None, bool]:
    """Inline code, up to the next backtick or the end of the line."""
    yield from cur.run(_TICKS)
    cur.show(cur.pos)
    if (yield from cur.pass_text(_INLINE_END)) == "`":
        yield from cur.run(_TICKS)
        cur.show(cur.pos)
    return True


_INLINE_END = Literals(("`", "\n"))

FENCES = (
    Notation(
        name="fence",
        title="Code fence",
        seen_in="most chat-tuned models",
        openers=anywhere("```"),
        quick=object_between(_BEFORE_CALL, re.compile(r"\s*+```")),
        read=_fence,
        written_out=True,
        plain=_plain_fence,
        example='```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
    ),
    Notation(
        name="tilde fence",
        title="Code fence of tildes (text)",
        seen_in="all",
        openers=(Opener("~~~", Where.LINE),),
        read=_tildes,
        quotable=False,
    ),
    Notation(
        name="inline code",
        title="Inline code (text)",
        seen_in="all",
        openers=anywhere("`"),
        read=_inline,
        quotable=False,
    ),
)
