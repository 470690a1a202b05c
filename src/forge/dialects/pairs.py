"""Arguments as key and value elements: GLM's ``<arg_key>``, LongCat's and Hunyuan's variants of it."""

from __future__ import annotations

import re

from forge.core.request import Tool
from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals
from forge.dialects.marks import END_TAGS
from forge.dialects.verbatim import ValueTags, value_text

_FAMILIES = (
    ("arg_key", "arg_value"),
    ("longcat_arg_key", "longcat_arg_value"),
    ("arg_key:opensource", "arg_value:opensource"),
    ("ifm|arg_key", "ifm|arg_value"),
)
_SWALLOWED = Literals(("<tool_sep>", "<tool_sep:opensource>"))
_KEY_OPEN = Literals([*(f"<{key}>" for key, _ in _FAMILIES), *_SWALLOWED.words])
_KEY_CLOSE = Literals([f"</{key}>" for key, _ in _FAMILIES])
PAIR_KEYS = _KEY_OPEN | _KEY_CLOSE
_VALUE_OPEN = Literals([f"<{value}>" for _, value in _FAMILIES])
_VALUE_CLOSE = Literals([f"</{value}>" for _, value in _FAMILIES])
_TYPE_OPEN = Literals(("<ifm|arg_type>",))
_TYPE_CLOSE = Literals(("</ifm|arg_type>",))
_KEY_END = _KEY_CLOSE | _VALUE_OPEN
_TAGS = ValueTags(_VALUE_OPEN, _VALUE_CLOSE, _KEY_OPEN, Literals(END_TAGS))
_LONGEST_KEY = 200


def pairs(cur: Candidate, name: str, start: int, marks: Literals) -> Need[bool]:
    """The cursor stands on the first key's tag behind ``name``, or on its end tag if the tag was swallowed."""
    values: dict[str, str] = {}
    tool = cur.tools.get(name)
    yield from cur.literal(_SWALLOWED)
    yield from cur.space()
    if begins_arguments((yield from cur.peek())):
        return (yield from arguments(cur, name, start, marks))
    if (yield from cur.literal(_KEY_CLOSE)) is not None:
        name, key = _split(cur, name)
        tool = cur.tools.get(name)
        if tool is None or not key:
            return False
        if not (yield from _value(cur, tool, key, values)):
            cur.missed(Missed("cut_off", name), start)
            return True
    while True:
        yield from cur.space()
        if (yield from cur.literal(_KEY_OPEN)) is None:
            if not (yield from key_behind_opener(cur)):
                break
            yield from cur.literal(_WRONG_OPEN)
        key_start = cur.pos
        stop, found = yield from cur.until(_KEY_END)
        key = cur.tape.slice(key_start, stop).strip()
        if found in _VALUE_OPEN.words:
            cur.pos = stop  # the key's end tag was forgotten
        if found is None or not (yield from _value(cur, tool, key, values)):
            cur.missed(Missed("cut_off", name), start)
            return True
    ended = (yield from cur.sees(marks)) is not None
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    elif not ended and not all(key in values for key in cur.tools.parameters(tool)):
        # Further pairs may have been cut off.
        cur.missed(Missed("cut_off" if (yield from cur.at_end()) else "unreadable", name), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)
    return True


def key_behind_opener(cur: Candidate) -> Need[bool]:
    """Whether a key follows whose tag was written as the wrapper's (``<tool_call>k</arg_key>``)."""
    start = cur.pos
    found = False
    if (yield from cur.literal(_WRONG_OPEN)) is not None:
        yield from cur.run(_KEY_TEXT)
        found = (yield from cur.literal(_KEY_CLOSE)) is not None
    cur.pos = start
    return found


def opener_at_end(cur: Candidate) -> Need[bool]:
    """Whether the reply ends behind a wrapper's opener and what may be the beginning of a key."""
    start = cur.pos
    ends = False
    if (yield from cur.literal(_WRONG_OPEN)) is not None:
        yield from cur.run(_KEY_TEXT)
        yield from cur.run(_TAG_TEXT)
        ends = yield from cur.at_end()
    cur.pos = start
    return ends


_WRONG_OPEN = Literals(("<tool_call>",))
_KEY_TEXT = re.compile(r"[\w.-]*")
_TAG_TEXT = re.compile(r"[</a-z_]*")


def _split(cur: Candidate, word: str) -> tuple[str, str]:
    """A name and a key that were glued together."""
    for at in range(len(word) - 1, 0, -1):
        tool = cur.tools.tools.get(word[:at])
        if tool is not None and word[at:] in cur.tools.parameters(tool):
            return word[:at], word[at:]
    for at in range(len(word) - 1, 0, -1):
        if cur.tools.tools.get(word[:at]) is not None:
            return word[:at], word[at:]
    return word, ""


def _value(cur: Candidate, tool: Tool | None, key: str, values: dict[str, str]) -> Need[bool]:
    """Read the value of ``key`` into ``values``. False: it was cut off."""
    yield from cur.space()
    if (yield from cur.literal(_TYPE_OPEN)) is not None:
        yield from cur.until(_TYPE_CLOSE)  # said by the schema as well
        yield from cur.space()
    if (yield from cur.literal(_VALUE_OPEN)) is None:
        return False

    def is_next() -> Need[bool]:
        begin = cur.pos
        stop, found = yield from cur.until(_KEY_END, _LONGEST_KEY)
        word = cur.tape.slice(begin, stop).strip()
        declared = cur.tools.parameters(tool) if tool is not None else {}
        return found is not None and word != key and word not in values and (not declared or word in declared)

    text = yield from value_text(cur, _TAGS, is_next)
    if text is None:
        return False
    values[key] = text
    yield from cur.space()
    yield from cur.literal(_VALUE_CLOSE)  # written twice
    return True
