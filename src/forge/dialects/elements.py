"""Calls as elements: ``<function=N><parameter=k>v</parameter></function>`` and its relatives.

Qwen3-Coder, MiniCPM, Seed, MiniMax, Claude-like ``<invoke>``, DeepSeek's DSML and Step's ``steptml`` differ in
their words and prefixes only. A JSON body in place of parameters is read as well.
"""

from __future__ import annotations

import re
from functools import cache

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.element_values import (
    NAME_END,
    OUTER,
    TAG_END,
    TAG_REST,
    Place,
    Words,
    element_value,
    parameter_name,
)
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals, literals, union
from forge.dialects.marks import CALL_END, CHAT_TOKENS, END_TAGS, ML_BARS, ML_WORDS
from forge.dialects.verbatim import cdata, stripped
from forge.repair.tolerant import read_json

_PREFIXES = (
    "",
    "antml:",
    "atem:",
    "steptml:",
    "minimax:",
    *(f"{bar}{word}{bar}" for word in ML_WORDS for bar in ML_BARS),
)
_HEADS = (
    "function=",
    "function name=",
    "invoke name=",
    "tool_call name=",
    "tool name=",
    "function_call name=",
)
_VALUES = (
    "parameter=",
    "parameter name=",
    "param=",
    "param name=",
    "argument name=",
    "arg name=",
    "argument=",
)
_VALUE_ENDS = ("parameter", "param", "argument", "arg")
_CALL_ENDS = ("function", "invoke", "tool_call", "tool", "function_call")
_WRAPPING = ("tool_call", "tool", "function_call")
"""Words of elements that are a call themselves or stand around one."""


def _words(prefix: str) -> Words:
    opens = Literals(f"<{prefix}{word}" for word in _VALUES)
    closes = Literals(f"</{prefix}{word}>" for word in _VALUE_ENDS)
    ends = Literals(f"</{prefix}{word}>" for word in _CALL_ENDS)
    return Words(
        opens=opens,
        closes=closes,
        ends=ends,
        steps=Literals((*opens.words, *closes.words, *ends.words)),
        heads=Literals(f"<{prefix}{word}" for word in _HEADS),
    )


_BY_PREFIX = {prefix: _words(prefix) for prefix in _PREFIXES}
_BY_HEAD = {f"<{prefix}{word}": _BY_PREFIX[prefix] for prefix in _PREFIXES for word in _HEADS}
ELEMENT_HEADS = Literals(_BY_HEAD)
_OWN_ENDS = {
    f"<{prefix}{word}": frozenset(
        f"</{prefix}{end}>" for end in _CALL_ENDS if end not in _WRAPPING or word.startswith(_WRAPPING)
    )
    for prefix in _PREFIXES
    for word in _HEADS
}
"""The end tags that can be those of the call itself and of nothing around it, by its head."""
_WRONG_END = Literals(("<function>",))
_JSON_BODY = Literals((*(f"</{p}{w}>" for p in _PREFIXES for w in _CALL_ENDS), *END_TAGS, *CHAT_TOKENS))


def element(cur: Candidate, head: str, start: int) -> Need[bool]:
    """Read one call; the cursor stands behind ``head`` (``<function=``, ``<invoke name=``)."""
    words = _BY_HEAD[head]
    if _plain_element(cur, words, start):
        return True
    name, closed = yield from _tag_name(cur)
    if not name:
        return False
    if closed == "/>":
        _report(cur, name, {}, {}, start)
        return True
    tool = cur.tools.get(name)
    body = cur.pos
    yield from cur.space()
    if begins_arguments((yield from cur.peek())):
        return (yield from _json_body(cur, name, words, start))
    step = yield from cur.sees(words.steps)
    if step is None or step in words.closes.words:
        if tool is None or not (yield from cur.at_end()):
            return False
        cur.missed(Missed("cut_off", name), start)
        return True
    cur.pos = body
    values: dict[str, str] = {}
    typed: dict[str, bool] = {}
    done = yield from _parameters(
        cur, words, Place(name, "", values, _OWN_ENDS[head]), typed, _wrapper_end(cur, start)
    )
    if not done and not (tool and all(key in values for key in cur.tools.parameters(tool)) and values):
        cur.missed(Missed("cut_off" if cur.pos >= cur.tape.end else "unreadable", name), start)
        return True
    _report(cur, name, values, typed, start)
    return True


def plain_element(cur: Candidate) -> bool:
    """Take a call whose values hold no markup, if one stands here and has arrived whole."""
    start = cur.pos
    usual = cur.matched(_whole(_BY_PREFIX[""]))
    if usual is not None:
        _take_plain(cur, _BY_PREFIX[""], usual, start)
        return True
    head = cur.matched(ELEMENT_HEADS.pattern)
    if head is None or not _plain_element(cur, _BY_HEAD[head.group()], start):
        cur.pos = start
        return False
    return True


def _plain_element(cur: Candidate, words: Words, start: int) -> bool:
    usual = cur.matched(_simple(words))
    if usual is not None:
        _take_plain(cur, words, usual, start)
    return usual is not None


def _take_plain(cur: Candidate, words: Words, usual: re.Match[str], start: int) -> None:
    quoted, bare, members = usual.groups()
    values = {
        (quoted_key or key).strip(): stripped(text)
        for quoted_key, key, text in _simple_values(words).findall(members)
    }
    _report(cur, (quoted or bare).strip(), values, {}, start)


_SIMPLE_NAME = r"(?:\"([^\"<\n]++)\"|([^<>\n\"'“/{]++))>"
_ANY_SIMPLE_NAME = r"(?:\"[^\"<\n]++\"|[^<>\n\"'“/{]++)>"


@cache
def _simple(words: Words) -> re.Pattern[str]:
    """The rest of a call without any ``<`` in its values: nothing in it can mean anything else."""
    opens, closes = words.opens.pattern.pattern, words.closes.pattern.pattern
    value = rf"{opens}{_ANY_SIMPLE_NAME}[^<]*+{closes}\s*+"
    return re.compile(rf"{_SIMPLE_NAME}\s*+((?:{value})*+){words.ends.pattern.pattern}")


@cache
def _whole(words: Words) -> re.Pattern[str]:
    """The same with its head."""
    return re.compile(words.heads.pattern.pattern + _simple(words).pattern)


@cache
def _simple_values(words: Words) -> re.Pattern[str]:
    return re.compile(rf"{words.opens.pattern.pattern}{_SIMPLE_NAME}([^<]*+)")


def _tag_name(cur: Candidate) -> Need[tuple[str, str | None]]:
    """The name in a tag, and how the tag ends."""
    usual = cur.matched(TAG_REST)
    if usual is not None:
        return usual.group(1).strip(), ">"
    quote = yield from cur.peek()
    if quote and quote in "\"'“":
        name = (yield from cur.attribute()) or ""
    else:
        name = (yield from cur.run(NAME_END)).strip()
    yield from cur.space()
    closed = yield from cur.literal(TAG_END)
    if closed is None and (yield from cur.peek()) == "{":
        closed = ">"  # the tag's end was lost before a JSON body
    return (name.strip(), closed) if closed is not None else ("", None)


def _wrapper_end(cur: Candidate, start: int) -> str | None:
    """The end tag that belongs to the tag in which this call stands; None where it stands by itself."""
    opener = _OPENING_TAG.match(cur.tape.slice(cur.start, min(start, cur.start + _LONGEST_TAG)))
    return f"</{opener[1]}>" if opener is not None else None


def _parameters(
    cur: Candidate,
    words: Words,
    place: Place,
    typed: dict[str, bool],
    wrapper_end: str | None,
) -> Need[bool]:
    """Read parameters up to the call's end tag. False: it never came."""
    while True:
        yield from cur.space()
        step = yield from cur.literal(words.steps)
        if step is None:
            return (yield from cur.sees(OUTER)) is not None
        if step in words.ends.words:
            return True
        if step in words.closes.words:
            continue  # written twice
        key = yield from parameter_name(cur, typed)
        if not key:
            return False
        text = yield from cdata(cur, words.closes)
        if text is None:
            text = yield from element_value(cur, words, place._replace(key=key), wrapper_end)
        if text is None:
            return False
        place.values[key] = text


_LONGEST_TAG = 400
_OPENING_TAG = re.compile(r"<([^\s<>=\"/]+)[^<>]*>")


def _json_body(cur: Candidate, name: str, words: Words, start: int) -> Need[bool]:
    yield from arguments(cur, name, start, _JSON_BODY)
    yield from cur.space()
    yield from cur.literal(words.ends | _WRONG_END)
    return True


def _report(cur: Candidate, name: str, values: dict[str, str], typed: dict[str, bool], start: int) -> None:
    tool = cur.tools.get(name)
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
    elif typed:
        raw = {key: text if typed.get(key, True) else _decoded(text) for key, text in values.items()}
        cur.found(Found(tool, raw), start)
    else:
        cur.found(Found(tool, values, text_values=True), start)


def _decoded(text: str) -> object:
    reading = read_json(f"[{text}]")
    whole = reading.closed and reading.end == len(text) + 2 and len(reading.value) == 1
    return reading.value[0] if whole else text


def named_element(cur: Candidate, head: str, start: int, marks: Literals) -> Need[bool]:
    """``<function>N</function>`` or ``<name>N</name>``, then the arguments as JSON, perhaps in an element too."""
    name = (yield from cur.run(NAME_END)).strip()
    if not name or (yield from cur.literal(literals("</" + head[1:]))) is None:
        return False
    yield from cur.space()
    wrapper = yield from cur.literal(_ARGUMENT_TAGS)
    yield from cur.space()
    closers = literals("</" + wrapper[1:]) if wrapper else marks
    if not begins_arguments((yield from cur.peek())):
        return False
    yield from arguments(cur, name, start, union(closers, CALL_END))
    yield from cur.space()
    if wrapper:
        yield from cur.literal(closers)
    return True


_ARGUMENT_TAGS = Literals(f"<{word}>" for word in ("arguments", "parameters", "input", "args", "params"))
