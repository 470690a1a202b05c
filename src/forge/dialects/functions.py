"""Notations that begin with a call's own element or token rather than with a wrapper."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate
from forge.dialects.elements import ELEMENT_HEADS, element
from forge.dialects.marks import CALL_END
from forge.dialects.notation import Notation, Opener, anywhere
from forge.dialects.units import unit
from forge.dialects.wrappers import wrapper


def _element(cur: Candidate) -> Generator[None, None, bool]:
    head = yield from cur.literal(ELEMENT_HEADS)
    return head is not None and (yield from element(cur, head, cur.start))


def _named(cur: Candidate) -> Generator[None, None, bool]:
    return (yield from unit(cur, CALL_END))


FUNCTIONS = (
    Notation(
        name="function_xml",
        title="Function element",
        seen_in="Qwen3-Coder, Qwen3.5, Nemotron 3, Llama on Groq, MiniCPM, Claude-like data, DeepSeek V3.2",
        openers=anywhere(*ELEMENT_HEADS.words),
        read=_element,
        example="<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
    ),
    Notation(
        name="mistral",
        title="Mistral TOOL_CALLS",
        seen_in="Mistral 7B v0.3 to Mistral Small 3.2, Devstral, Magistral",
        openers=anywhere("[TOOL_CALLS]"),
        read=wrapper(("[TOOL_CALLS]",), ("[/TOOL_CALLS]",)),
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
