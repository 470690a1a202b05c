"""Notations that begin with a call's own element or token rather than with a wrapper."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import cache

from forge.dialects.between_marks import between, wrapper
from forge.dialects.candidate import Candidate
from forge.dialects.elements import ELEMENT_HEADS, element, plain_element
from forge.dialects.marks import CALL_END
from forge.dialects.notation import Notation, Opener, anywhere
from forge.dialects.units import unit


def _element(cur: Candidate) -> Generator[None, None, bool]:
    start = cur.pos  # not where the candidate began: it may be a fence around the call
    head = yield from cur.literal(ELEMENT_HEADS)
    return head is not None and (yield from element(cur, head, start))


def _overtaken(text: str, at: int) -> int:
    """The end of a run of tags each of which is followed by another one: only the last can begin a call."""
    run = _run().match(text, at)
    return run.end() if run is not None else -1


@cache
def _run() -> re.Pattern[str]:
    head = ELEMENT_HEADS.pattern.pattern
    return re.compile(rf"(?:{head}[^<>\n\"'/{{]*+>\s*+(?={head}))++")


def _named(cur: Candidate) -> Generator[None, None, bool]:
    return (yield from unit(cur, CALL_END))


FUNCTIONS = (
    Notation(
        name="function_xml",
        title="Function element",
        seen_in="Qwen3-Coder, Qwen3.5, Nemotron 3, Llama on Groq, MiniCPM, Claude-like data, DeepSeek V3.2",
        openers=anywhere(*ELEMENT_HEADS.words),
        read=_element,
        quick=plain_element,
        plain=_overtaken,
        example="<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
    ),
    Notation(
        name="mistral",
        title="Mistral TOOL_CALLS",
        seen_in="Mistral 7B v0.3 to Mistral Small 3.2, Devstral, Magistral",
        openers=anywhere("[TOOL_CALLS]"),
        read=wrapper(("[TOOL_CALLS]",), ("[/TOOL_CALLS]",)),
        quick=between(("[TOOL_CALLS]",), ("[/TOOL_CALLS]",)),
        example='[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}',
    ),
    Notation(
        name="mistral_args",
        title="Mistral ARGS without the leading token",
        seen_in="Mistral Small 3.2, Devstral",
        openers=(Opener("[ARGS]", named=True), Opener("[CALL_ID]", named=True)),
        read=_named,
        example='get_weather[ARGS]{"city": "Oslo"}',
    ),
)
