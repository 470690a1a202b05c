"""The corrections of a guarded turn, put together from the nudges by what went wrong and how often.

All texts are deterministic, so a replayed turn sends the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from forge.core.request import Tool
from forge.engine.tone import PLAIN, Tone
from forge.prompts.nudges import broken_call_nudge, empty_answer_nudge, retry_nudge, unknown_tool_nudge
from forge.schema.explain import example_call
from forge.schema.names import closest_names

MAX_NAMES_SHOWN = 40


def broken_call(tools: Sequence[Tool], *, reason: str, name: str | None = None, tone: Tone = PLAIN) -> str:
    """The text looked like a tool call but gives none (``reason``: unknown_tool, unreadable or cut_off)."""
    names = [tool.name for tool in tools]
    closest = closest_names(name, names) if name and reason == "unknown_tool" else ()
    meant = [tool for tool in tools if tool.name == name] or tools
    return broken_call_nudge(reason, name, _names(tools), closest) + _example(meant, tone)


def unknown_tool(name: str, tools: Sequence[Tool], *, tone: Tone) -> str:
    """The call names a tool that was not offered."""
    close = closest_names(name, [tool.name for tool in tools])
    return unknown_tool_nudge(name, _names(tools), close) + _example(tools, tone)


def must_call(tools: Sequence[Tool], *, tone: Tone, empty: bool = False) -> str:
    """Plain text, or nothing at all, where a call is required."""
    names = ", ".join(_names(tools))
    if tone.level <= 1:
        text = empty_answer_nudge() if empty else retry_nudge("")
        return f"{text} The available tools are: {names}." if names else text
    return (
        f"A tool call is required; text alone is not accepted. Call one of these tools now: {names}."
        + _example(tools, tone)
    )


def wrong_tool(wanted: str, tools: Sequence[Tool], *, tone: Tone) -> str:
    """A call of another tool than the one that the caller demanded."""
    text = f"Only the tool '{wanted}' may be called now, so this call was not run. Call '{wanted}'."
    return text + _example([tool for tool in tools if tool.name == wanted], tone)


def no_calls() -> str:
    """A call where the caller wants none."""
    return "No tool may be called now, so this call was not run. Give your answer as text."


def announced_action() -> str:
    """The text announces an action and stops."""
    return (
        "You announced a next step but did not take it. If it needs a tool, call the tool now; "
        "if you are finished, give your final answer."
    )


def empty_answer() -> str:
    """No visible text and no call, where text would do as well."""
    return "Your last answer was empty. Call a tool, or give your answer as text."


def _names(tools: Sequence[Tool]) -> list[str]:
    names = [tool.name for tool in tools]
    if len(names) > MAX_NAMES_SHOWN:
        return [*names[:MAX_NAMES_SHOWN], f"and {len(names) - MAX_NAMES_SHOWN} more"]
    return names


def _example(tools: Sequence[Tool], tone: Tone) -> str:
    if not tone.shows_example or not tools:
        return ""
    return f" A call has this form: {json.dumps(example_call(tools[0]), ensure_ascii=False)}"
