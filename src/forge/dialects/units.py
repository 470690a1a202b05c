"""One call inside a wrapper, in whatever way the model chose to write it there."""

from __future__ import annotations

import re

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import BLANKS, Need
from forge.dialects.elements import ELEMENT_HEADS, element, named_element
from forge.dialects.gemma import GEMMA_CALL, gemma_call
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.json_calls import calls_in
from forge.dialects.json_unit import JsonUnit, json_unit
from forge.dialects.literals import Literals
from forge.dialects.pairs import PAIR_KEYS, key_behind_opener, opener_at_end, pairs
from forge.dialects.pythonic import LIST_END, source_call, text_call
from forge.dialects.tool_elements import tool_element

SEPARATORS = re.compile(r"[\s,;\u200b\ufeff]*")
AFTER_CALL = re.compile(r"[\s,;}\]\u200b\ufeff]*")
"""Between calls; a closing bracket too many changes nothing."""

_JSON_STARTS = "{｛"
_GLUE = Literals(("[ARGS]", "[CALL_ID]"))
_NAME_HEADS = Literals(("<function>", "<name>", "<tool_name>", "<function_name>", "<tool>"))


def unit(cur: Candidate, marks: Literals, *, marked: bool = True) -> Need[bool]:
    """Read one call (or one list of calls) that begins here and report it. False: there is none."""
    start = cur.pos
    first = yield from cur.peek()
    if first in _JSON_STARTS and first:
        return (yield from _json(cur, start, marks, marked=marked))
    if first in ("[", "［"):
        return (yield from bracket(cur, marks, marked=marked))
    if first == "<":
        head = yield from cur.literal(ELEMENT_HEADS)
        if head is not None:
            return (yield from element(cur, head, start))
        head = yield from cur.literal(_NAME_HEADS)
        if head is not None:
            return (yield from named_element(cur, head, start, marks))
        return (yield from tool_element(cur))
    return (yield from _named(cur, start, marks))


def report(cur: Candidate, value: JsonUnit, start: int, *, marked: bool) -> bool:
    """Report the calls in a JSON value. False: it holds none and is no attempt at one."""
    if value.state != "read":
        head = cur.tape.slice(start, min(cur.pos, start + 400))
        cur.missed(Missed("cut_off" if value.state == "cut_off" else "unreadable", _first_name(head)), start)
        return True
    calls = calls_in(value, cur.tools, marked=marked)
    for text in calls.texts:
        found = text_call(text, cur.tools)
        if found is None:
            calls.odd += 1
        else:
            calls.found.append(found)
    if calls.odd and not marked and isinstance(value.value, list):
        return False  # a list that also holds what is no call is data
    for found in calls.found:
        cur.found(found, start)
    for at, miss in enumerate(calls.missed):
        cur.missed(miss, start if at == 0 else cur.pos)  # the text is shown once, and not for each of them
    if calls.odd and marked and not calls.found and not calls.missed:
        cur.missed(Missed("unreadable"), start)
    return bool(calls.found or calls.missed) or marked


_NAME_MEMBER = re.compile(
    r"[\"'“](?:name|tool|tool_name|toolName|function|function_name|action|recipient_name)[\"'”]\s*[:：]\s*[\"'“]([^\"'”]*)[\"'”]"
)


def _first_name(head: str) -> str | None:
    match = _NAME_MEMBER.search(head)
    return match.group(1) if match else None


def _json(cur: Candidate, start: int, marks: Literals, *, marked: bool) -> Need[bool]:
    value = yield from json_unit(cur, marks)
    return report(cur, value, start, marked=marked)


def bracket(cur: Candidate, marks: Literals, *, marked: bool) -> Need[bool]:
    """A list: of JSON calls, of source-text calls, or of strings that hold such."""
    start = cur.pos
    cur.pos += 1
    yield from cur.space()
    first = yield from cur.peek()
    if first.isalpha() or first == "_":
        return (yield from source_list(cur, marks))
    cur.pos = start
    return (yield from _json(cur, start, marks, marked=marked))


def source_list(cur: Candidate, marks: Literals) -> Need[bool]:
    """``N(...), M(...)]``; the bracket is already taken."""
    some = False
    while True:
        yield from cur.run(SEPARATORS)
        if (yield from cur.literal(LIST_END)) is not None:
            return some
        start = cur.pos
        name = yield from cur.name()
        if not name or (yield from cur.peek()) != "(":
            if some:
                cur.pos = start
            return some
        if not (yield from source_call(cur, name, start, marks)):
            return some
        some = True


def _named(cur: Candidate, start: int, marks: Literals) -> Need[bool]:
    """A name, and arguments in one of the ways that follow a name."""
    if (yield from cur.literal(GEMMA_CALL)) is not None:
        return (yield from gemma_call(cur, start))
    name = yield from cur.name()
    if name == "function" and cur.tools.get(name) is None and (yield from cur.peek()) == "\n":
        yield from cur.space()  # the kind of tool stands on a line before its name
        name = yield from cur.name()
    if not name:
        return False
    following = yield from cur.peek()
    if following == "(":
        return (yield from source_call(cur, name, start, marks))
    tool = cur.tools.get(name)
    if (yield from cur.sees(PAIR_KEYS)) is not None:
        return (yield from pairs(cur, name, start, marks))
    blanks = yield from cur.run(BLANKS)
    glue = yield from cur.literal(_GLUE)
    if glue is None:
        cur.pos -= len(blanks)
    if glue == "[CALL_ID]":
        yield from cur.name()
        glue = yield from cur.literal(_GLUE)
    gap = yield from cur.space()
    if (yield from cur.sees(PAIR_KEYS)) is not None or (yield from key_behind_opener(cur)):
        return (yield from pairs(cur, name, start, marks))
    following = yield from cur.peek()
    if begins_arguments(following) and (glue or (following == "{" and (tool is not None or not gap))):
        return (yield from arguments(cur, name, start, marks))
    if tool is not None and glue is None and (yield from cur.sees(marks)) is not None:
        if cur.tools.parameters(tool) and (yield from opener_at_end(cur)):
            cur.missed(Missed("cut_off", name), start)
        else:
            cur.found(Found(tool, {}), start)
        return True
    return False
