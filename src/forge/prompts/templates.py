"""Calls out of a model's text, for callers that hold the whole text and want a plain list.

Both functions stand on the reply parser (:mod:`forge.dialects`). On top of what it accepts they take JSON calls
that stand inside a sentence, since prompt-injected models write those; not where the sentence says that it is an
example, a refusal or a quotation, and never out of thinking or code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from forge.core.calls import CallSource, ToolCall
from forge.dialects.context import Context, has_placeholder
from forge.dialects.json_calls import calls_in
from forge.dialects.json_unit import JsonUnit
from forge.dialects.reply import TextSegment
from forge.dialects.scanner import parse_tool_calls
from forge.dialects.toolbox import Toolbox
from forge.prompts.tool_prompt import build_tool_prompt
from forge.repair.tolerant import read_json
from forge.schema.arguments import read_arguments

__all__ = ["build_tool_prompt", "extract_tool_call", "rescue_tool_call"]

_MEMBER = re.compile(r"\{\s*[\"'“]?[A-Za-z_]")
_FAILED_READING = 400
"""Characters that an attempt to read JSON which gave nothing is charged as."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


def extract_tool_call(text: str, available_tools: Iterable[object]) -> list[ToolCall]:
    """All calls of ``available_tools`` (names, or tools in any form) in ``text``, in the order written.

    Arguments are typed by a tool's schema where one was given. Returns [] when there is none; never raises on
    any text; the cost is linear in it.
    """
    tools = Toolbox(available_tools)
    reply = parse_tool_calls(text, tools)
    if reply.calls or reply.rejected:
        return reply.calls
    visible = "".join(segment.text for segment in reply.segments if isinstance(segment, TextSegment))
    return _inside_sentences(visible, tools)


def rescue_tool_call(text: str, available_tools: Iterable[object]) -> list[ToolCall]:
    """Calls that a model wrote as text where structured calls were expected; the same as :func:`extract_tool_call`."""
    return extract_tool_call(text, available_tools)


def _inside_sentences(text: str, tools: Toolbox) -> list[ToolCall]:
    """JSON calls in running text. Reading stops when it costs more than a few passes over the text."""
    text = _CODE.sub(lambda code: " " * len(code.group()), text)
    calls: list[ToolCall] = []
    pos = spent = 0
    budget = max(4 * len(text), 100 * _FAILED_READING)
    while spent <= budget:
        match = _MEMBER.search(text, pos)
        if match is None:
            break
        start = match.start()
        reading = read_json(text, start, keys=tools.keys)
        end = max(reading.end, start + 1)
        # One that is refused, for its depth say, tells no end; the work was done all the same.
        spent += end - start if reading.end > start else _FAILED_READING
        pos = start + 1
        if not reading.complete or not reading.closed:
            continue
        found = calls_in(JsonUnit("read", reading.value, reading.fixes), tools, marked=False).found
        if found or end - start < len(text) // 2:
            pos = end
        if not found or _is_example(text, start):
            continue
        for call in found:
            checked = read_arguments(call.tool, call.raw)
            if checked.complete and not has_placeholder(checked.value):
                source = CallSource("json in a sentence", (start, end), (*call.fixes, *checked.fixes))
                calls.append(ToolCall(call.tool.name, checked.value, source=source))
    return calls


def _is_example(text: str, start: int) -> bool:
    context = Context()
    if start:
        context.shown(text[max(0, start - 400) : start])
    return context.example()
