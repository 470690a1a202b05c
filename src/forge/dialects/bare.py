"""Calls without any marks: JSON alone on its lines, source text, a name and its arguments."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.candidate import Candidate
from forge.dialects.cursor import Need
from forge.dialects.json_arguments import arguments
from forge.dialects.json_calls import LISTS, WRAPPERS
from forge.dialects.json_data import json_data
from forge.dialects.json_unit import json_unit
from forge.dialects.literals import Literals
from forge.dialects.marks import CALL_END, CHAT_TOKENS, END_TAGS
from forge.dialects.notation import Notation, Opener, Where
from forge.dialects.pythonic import source_call
from forge.dialects.toolbox import CALL_KEYS
from forge.dialects.units import report, source_list

_KEY = re.compile(r"[\w.$\\-]*")
_QUOTES = "\"'“”‘"
_JOIN = re.compile(r"[\s,;]*")
_FOLLOW = Literals((*END_TAGS, *CHAT_TOKENS, "</s>", "```", "</function>", "</think>"))
_MARKS = Literals((*END_TAGS, *CHAT_TOKENS, "</s>"))


def _json(cur: Candidate) -> Generator[None, None, bool]:
    """One or several JSON values; each must stand alone on its lines."""
    end = -1
    last: object = None
    while True:
        start, known = cur.pos, cur.pending
        if not (yield from _promising(cur)):
            if end < 0 and (yield from _begins_json(cur)):
                return (yield from json_data(cur))
            break
        value = yield from json_unit(cur, _MARKS, stop_at_tags=True)
        if value.state != "read" and not _names_tool(cur, start):
            if end < 0:
                cur.pos = start
                return (yield from json_data(cur))
            break
        if not report(cur, value, start, marked=False) or not (yield from _alone(cur)):
            cur.forget(known)
            if end < 0:
                cur.show(cur.pos)  # data: nothing inside of it is a call either
                return True
            break
        if start == end and value.value == last:
            cur.forget(known)  # the whole call printed twice
        cur.flush()
        end, last = cur.pos, value.value
        yield from cur.run(_JOIN)
        if (yield from cur.peek()) not in ("{", "｛"):
            break
    if end >= 0:
        cur.pos = end
    return end >= 0


def _promising(cur: Candidate) -> Need[bool]:
    """Whether the value begins like a call: the first member's key is one that calls have."""
    start = cur.pos
    first = yield from cur.peek()
    ok = False
    if first and first in "{｛[［":
        cur.pos += 1
        yield from cur.space()
        inner = yield from cur.peek()
        if first in "[［":
            ok = inner in ("{", "｛") or (inner != "" and inner in _QUOTES)
            if ok and inner in "{｛":
                ok = yield from _promising(cur)
            elif ok:
                ok = yield from _key_fits(cur)
        else:
            if inner == "{":
                cur.pos += 1
                yield from cur.space()
            while (yield from cur.literal(_ESCAPED_BREAK)) is not None:
                yield from cur.space()
            ok = yield from _key_fits(cur)
    cur.pos = start
    return ok


_ESCAPED_BREAK = Literals(("\\n",))


def _key_fits(cur: Candidate) -> Need[bool]:
    quote = yield from cur.peek()
    if quote and quote in _QUOTES:
        cur.pos += 1
    key = (yield from cur.run(_KEY))[:200]
    return key in _FIRST_KEYS or cur.tools.get(key) is not None


_FIRST_KEYS = CALL_KEYS.union(
    LISTS, WRAPPERS, ("thought", "thinking", "reasoning", "rationale", "analysis", "explanation")
)


def _begins_json(cur: Candidate) -> Need[bool]:
    """Whether what begins here like no call begins like valid JSON."""
    start = cur.pos
    first = yield from cur.peek()
    cur.pos += 1
    yield from cur.space()
    inner = yield from cur.peek()
    cur.pos = start
    return inner != "" and ((first == "{" and inner == '"') or (first == "[" and inner in '"{['))


def _names_tool(cur: Candidate, start: int) -> bool:
    """Whether a value that cannot be read names an offered tool where a call would."""
    match = _NAMING.search(cur.tape.slice(start, min(start + 300, cur.pos)))
    return match is not None and cur.tools.get(match.group(1)) is not None


_NAMING = re.compile(
    r"[\"'“]?(?:name|tool|tool_name|toolName|function|function_name|action|recipient_name)[\"'”]?\s*[:：]\s*[\"'“]([^\"'”]+)[\"'”]"
)


def _alone(cur: Candidate) -> Need[bool]:
    """Whether the line ends here (or a separator and another value, an end tag, a chat token follow)."""
    start = cur.pos
    yield from cur.run(_TAIL)
    following = yield from cur.peek()
    alone = following in ("", "\n", "{", "｛") or (yield from cur.sees(_FOLLOW)) is not None
    if not alone or following in ("{", "｛"):
        cur.pos = start
    return alone


_TAIL = re.compile(r"[^\S\n]*[,;}\]]{0,2}[^\S\n\u200b]*")


def _list(cur: Candidate) -> Generator[None, None, bool]:
    """``[N(k="v"), ...]`` or a JSON list."""
    start = cur.pos
    cur.pos += 1
    yield from cur.space()
    first = yield from cur.peek()
    if first.isalpha() or first == "_":
        name = yield from cur.name()
        if (yield from cur.peek()) != "(" or cur.tools.get(name) is None:
            return False
        cur.pos = start + 1
        if not (yield from source_list(cur, CALL_END)):
            return False
        return (yield from _alone(cur))
    cur.pos = start
    return (yield from _json(cur))


def _source(cur: Candidate) -> Generator[None, None, bool]:
    """``N(k="v");`` as the whole message, perhaps several."""
    while True:
        start = cur.pos
        name = yield from cur.name()
        if cur.tools.get(name) is None and not (cur.anything and name):
            break
        if (yield from cur.peek()) != "(" or not (yield from source_call(cur, name, start, CALL_END)):
            break
        yield from cur.run(_JOIN)
        if (yield from cur.at_end()) or (yield from cur.sees(_FOLLOW)) is not None:
            return cur.anything
    return False


def _glued(cur: Candidate) -> Generator[None, None, bool]:
    """``N{...}`` or ``N`` and the arguments on the next line, as the whole message."""
    start = cur.pos
    name = yield from cur.name()
    yield from cur.space()
    if (yield from cur.peek()) != "{" or cur.tools.get(name) is None:
        return False
    if not (yield from arguments(cur, name, start, CALL_END)):
        return False
    return (yield from _alone(cur))


BARE = (
    Notation(
        name="glued",
        title="Name and JSON arguments",
        seen_in="GLM-4-9b, GLM through proxies",
        openers=(Opener("{", Where.LINE, named=True),),
        read=_glued,
        written_out=True,
        example='get_weather\n{"city": "Oslo"}',
    ),
    Notation(
        name="json",
        title="Bare JSON",
        seen_in="Qwen2.5-Coder, small Llamas, xLAM, prompt-injected models",
        openers=(Opener("{", Where.LABEL), Opener("｛", Where.LABEL)),
        read=_json,
        written_out=True,
        example='{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    ),
    Notation(
        name="list",
        title="Bare list of calls",
        seen_in="Llama 3/4, xLAM, most models in prompt mode",
        openers=(Opener("[", Where.LABEL), Opener("［", Where.LABEL)),
        read=_list,
        written_out=True,
        example="[get_weather(city='Oslo')]",
    ),
    Notation(
        name="source",
        title="Bare function call",
        seen_in="Raven, Gorilla, models in prompt mode",
        openers=(Opener("(", Where.LINE, named=True),),
        read=_source,
        written_out=True,
        example="get_weather(city='Oslo')",
    ),
)
