"""Notations that are lines or elements named after the tool: ReAct, Functionary, Cline-style elements."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.core.request import Tool
from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import BLANKS, Need
from forge.dialects.json_arguments import arguments
from forge.dialects.json_unit import json_unit
from forge.dialects.literals import Literals
from forge.dialects.marks import CALL_END, CHAT_TOKENS
from forge.dialects.notation import Notation, Opener, Where
from forge.repair.tolerant import read_json

_ACTION = Literals(("Action:", "Action :", "**Action:**", "ACTION:"))
_INPUT = Literals(
    (
        "Action Input:",
        "Action input:",
        "Action_Input:",
        "ActionInput:",
        "**Action Input:**",
        "Arguments:",
        "ACTION INPUT:",
        "Input:",
    )
)
_LINE = re.compile(r"[^\n]*")
_FENCE = Literals(("```",))
_REACT_MARKS = Literals(("\nObservation", "\nThought:", "\nFinal Answer", "\n```", *CHAT_TOKENS))


def _react(cur: Candidate) -> Generator[None, None, bool]:
    """``Action: N`` and ``Action Input: ...`` on the next line."""
    start = cur.pos
    yield from cur.literal(_ACTION)
    yield from cur.run(BLANKS)
    yield from cur.run(_TICKS)
    begin = cur.pos
    name = yield from cur.name()
    yield from cur.run(_TICKS)
    yield from cur.run(BLANKS)
    if not name:
        return False
    tool = cur.tools.get(name)
    following = yield from cur.peek()
    if following in ("(", "{") and following:
        cur.pos = begin
        return tool is not None and (yield from _inline(cur, name, begin, start))
    if following not in ("", "\n"):
        return False
    yield from cur.space()
    if (yield from cur.literal(_INPUT)) is None:
        if tool is not None and not cur.tools.parameters(tool):
            cur.found(Found(tool, {}), start)
            return True
        if (yield from cur.at_end()) and tool is not None:
            cur.missed(Missed("cut_off", name), start)
            return True
        return False
    yield from _input(cur, tool, name, start)
    return True


_TICKS = re.compile(r"[`*\[\]\"]*")


def _inline(cur: Candidate, name: str, begin: int, start: int) -> Need[bool]:
    """``Action: N({...})``, ``Action: N ({...})``, ``Action: N{...}``."""
    yield from cur.name()
    yield from cur.run(_TICKS)
    yield from cur.run(BLANKS)
    if (yield from cur.peek()) == "{":
        return (yield from arguments(cur, name, start, CALL_END))
    from forge.dialects.pythonic import source_call

    return (yield from source_call(cur, name, begin, CALL_END))


def _input(cur: Candidate, tool: Tool | None, name: str, start: int) -> Need[None]:
    yield from cur.run(BLANKS)
    line = cur.pos
    yield from cur.space()
    ticks = yield from cur.run(_CODE_TICKS)
    if len(ticks) > 2:
        yield from cur.run(_LINE)
        yield from cur.space()
    if (yield from cur.peek()) in ("{", "["):
        value = yield from json_unit(cur, _REACT_MARKS)
        if value.state == "read" and not value.open:
            yield from cur.space()
            yield from cur.run(_CODE_TICKS)
            _report(cur, tool, name, value.value, start)
        else:
            cur.missed(Missed("unreadable" if value.state == "unreadable" else "cut_off", name), start)
        return
    if len(ticks) > 2:
        begin = cur.pos
        stop, found = yield from cur.until(_FENCE)
        if found is None:
            cur.missed(Missed("cut_off", name), start)
        else:
            _report(cur, tool, name, cur.tape.slice(begin, stop).strip(), start)
        return
    cur.pos = line
    yield from _plain_input(cur, tool, name, start)


def _plain_input(cur: Candidate, tool: Tool | None, name: str, start: int) -> Need[None]:
    """The rest of the line (or the next line, if nothing stands on this one)."""
    text, ended = yield from _line(cur)
    if not text and not ended:
        yield from cur.space()
        if (yield from cur.sees(_NEXT_STEP)) is None:
            text, ended = yield from _line(cur)
    text = text.strip("`") if text[:1] == text[-1:] == "`" else text
    free = tool is not None and not cur.tools.parameters(tool) and text in _NOTHING
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    if (yield from cur.at_end()) and not (quoted or free or ended):  # nothing shows that the line is whole
        cur.missed(Missed("cut_off", name), start)
        return
    reading = read_json(text)
    decoded = text[:1] in ('"', "'") and reading.complete and reading.end == len(text)
    _report(cur, tool, name, reading.value if decoded else text, start)


def _line(cur: Candidate) -> Need[tuple[str, bool]]:
    """The rest of the line, up to a token that ends the turn; whether there is one."""
    start = cur.pos
    text = yield from cur.run(_LINE)
    token = _TURN_END.pattern.search(text)
    if token is None:
        return text.strip(), False
    cur.pos = start + token.start()
    return text[: token.start()].strip(), True


_TURN_END = Literals((*CHAT_TOKENS, "</s>"))
_CODE_TICKS = re.compile(r"`*")
_NEXT_STEP = Literals(("Observation", "Thought:", "Final Answer"))
_NOTHING = ("", "None", "none", "N/A", "null")


def _report(cur: Candidate, tool: Tool | None, name: str, value: object, start: int) -> None:
    """The call; a plain value goes to the tool's only parameter."""
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
        return
    if isinstance(value, dict) or value in (None, "", "None", "none", "N/A", "null"):
        cur.found(Found(tool, value if isinstance(value, dict) else {}), start)
        return
    declared = cur.tools.parameters(tool)
    required = cur.tools.required(tool)
    encoded = isinstance(value, str) and value.startswith("{")
    listed = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
    lone = len(required) == 1 or (not required and len(declared) == 1)
    if lone and not encoded and not listed:
        key = required[0] if required else next(iter(declared))
        cur.found(Found(tool, {key: value}, text_values=isinstance(value, str)), start)
    else:
        cur.found(Found(tool, value), start)


def _functionary(cur: Candidate) -> Generator[None, None, bool]:
    """``>>>N`` and the arguments on the next line; ``>>>all`` is text."""
    start = cur.pos
    cur.pos += 3
    name = yield from cur.name()
    if (yield from cur.peek()) not in ("\n", "\r", "{"):
        return False
    if name == "all":
        cur.pos += 1
        return True
    tool = cur.tools.get(name)
    if tool is None:
        return False
    yield from cur.space()
    if (yield from cur.peek()) != "{":
        cur.pos = start
        return False
    return (yield from arguments(cur, name, start, _NEXT | CALL_END))


_NEXT = Literals((">>>",))


LINES = (
    Notation(
        name="react",
        title="ReAct lines",
        seen_in="LangChain, crewAI and LlamaIndex prompts",
        openers=tuple(Opener(word, Where.LINE) for word in _ACTION.words),
        read=_react,
        example='Action: get_weather\nAction Input: {"city": "Oslo"}',
    ),
    Notation(
        name="functionary",
        title="Functionary 3.2",
        seen_in="Functionary 3.2",
        openers=(Opener(">>>", Where.LINE),),
        read=_functionary,
        example='>>>get_weather\n{"city": "Oslo"}',
    ),
)
