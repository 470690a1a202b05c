"""Inkling: messages whose content token says what they hold; a call's name stands before it and in its JSON."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_unit import json_unit
from forge.dialects.literals import Literals
from forge.dialects.notation import Notation, Opener, anywhere
from forge.dialects.units import report

_MESSAGE = Literals(("<|message_model|>",))
_CALL = Literals(("<|content_invoke_tool_json|>",))
_TEXT_CALL = Literals(("<|content_invoke_tool_text|>",))
_THINKING = Literals(("<|content_thinking|>",))
_END = Literals(("<|end_message|>", "<|content_model_end_sampling|>"))
_CONTENTS = _CALL | _TEXT_CALL | _THINKING | Literals(("<|content_text|>", "<|content_xml|>"))


def _message(cur: Candidate) -> Generator[None, None, bool]:
    """A message from its role token, or from the name or content token where that stood in the prompt."""
    start = cur.pos
    yield from cur.literal(_MESSAGE)
    name = yield from cur.name()
    content = yield from cur.literal(_CONTENTS)
    if content is None:
        return not name and start < cur.pos  # a role token alone is dropped
    if content in _THINKING.words:
        yield from cur.pass_thinking(_END)
    elif content in _CALL.words:
        yield from _json(cur, name, start)
    elif content in _TEXT_CALL.words:
        yield from _text(cur, name, start)
    return True


def _json(cur: Candidate, name: str, start: int) -> Need[None]:
    yield from cur.space()
    value = yield from json_unit(cur, _END)
    bare = value.state == "read" and isinstance(value.value, dict) and "name" not in value.value
    tool = cur.tools.get(name)
    if bare and tool is not None and not value.open:
        cur.found(Found(tool, value.value, fixes=value.fixes), start)
    else:
        report(cur, value, start, marked=True)
    yield from cur.space()
    yield from cur.literal(_END)


def _text(cur: Candidate, name: str, start: int) -> Need[None]:
    """A call whose only argument is plain text."""
    begin = cur.pos
    stop, found = yield from cur.until(_END)
    tool = cur.tools.get(name)
    required = cur.tools.required(tool) if tool is not None else ()
    if found is None:
        cur.missed(Missed("cut_off", name or None), start)
    elif tool is None:
        cur.missed(Missed("unknown_tool", name or None), start)
    elif len(required) != 1:
        cur.missed(Missed("unreadable", name), start)
    else:
        cur.found(Found(tool, {required[0]: cur.tape.slice(begin, stop)}, text_values=True), start)


INKLING = (
    Notation(
        name="inkling",
        title="Inkling messages",
        seen_in="Inkling",
        openers=(
            *anywhere(*_MESSAGE.words, *_CALL.words, *_THINKING.words),
            Opener("<|content_invoke_tool_json|>", named=True),
        ),
        read=_message,
        example="<|message_model|>get_weather<|content_invoke_tool_json|>"
        '{"name": "get_weather", "args": {"city": "Oslo"}}<|end_message|>',
    ),
)
