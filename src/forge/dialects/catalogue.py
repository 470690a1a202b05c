"""The table of notations for the documentation, written from the registry.

``python -m forge.dialects.catalogue`` prints ``docs/notations.md``.
"""

from __future__ import annotations

import sys

from forge.dialects.notation import Notation, Where
from forge.dialects.registry import NOTATIONS

_INTRODUCTION = """# Notations

<!-- Written by `python -m forge.dialects.catalogue`; change the registry, not this file. -->

Models write tool calls in many notations. `forge.parse_tool_calls` and `forge.ReplyScanner` read all of these,
whichever model or server they come from; nothing has to be chosen. Each example is a call of `get_weather` with
the city Oslo.

Rules that hold for every notation:

- Only offered tools are called. A name may differ in case and separators or carry a known prefix
  (`functions.`, `default_api.`); it is never guessed by similarity.
- A call whose arguments are cut off is no call. Closers that are missing behind complete arguments are added.
- Calls in inline code, in thinking, with placeholder values, or behind words such as "for example", "like this"
  and "I will not" are text, unless the sentence goes on to say what is done ("The log shows an error, so I'll look:").
  More calls in the same notation right behind such a one belong to it.
- JSON that is no call is data: nothing inside of it is a call either. Only a fence as long as the one that opened a
  code block closes it.
- A sentence that merely presents what follows ("The request body is:") makes plain JSON or a code block an example, not
  a native notation. What follows a call never matters: a call is released when it closes.
- A think block that never closes but ends with a whole native call: the call counts, unless the reply was cut off
  (`ReplyScanner.finish(cut=True)`, finish reason `length`).
- String values are verbatim; values of text notations are typed by the tool's JSON Schema.
- Every call says where it was found and what was repaired (`call.source`).
"""

_PLACES = {
    Where.ANYWHERE: "anywhere",
    Where.LINE: "at the start of a line",
    Where.LABEL: "at the start of a line or behind a colon",
    Where.MESSAGE: "at the start of the reply",
}


def document() -> str:
    """The whole page, in Markdown."""
    calls = [notation for notation in NOTATIONS if notation.example]
    others = [notation for notation in NOTATIONS if not notation.example]
    parts = [_INTRODUCTION, "## Calls\n"]
    parts += [_section(notation) for notation in calls]
    parts += ["## Read, but no calls\n", "| what | opened by | where |\n|---|---|---|"]
    parts += [_row(notation) for notation in others]
    return "\n".join(parts) + "\n"


def _section(notation: Notation) -> str:
    fence = "~~~" if "```" in notation.example else "```"
    return (
        f"### {notation.title}\n\n`{notation.name}`, written by {notation.seen_in}. "
        f"Counts {_place(notation)}.\n\n{fence}text\n{notation.example}\n{fence}\n"
    )


def _row(notation: Notation) -> str:
    words = ", ".join(_code(opener.text) for opener in notation.openers)
    return f"| {notation.title} | {words} | {_place(notation)} |"


def _place(notation: Notation) -> str:
    return ", ".join(dict.fromkeys(_PLACES[opener.where] for opener in notation.openers))


def _code(text: str) -> str:
    if not text.isprintable():
        return f"U+{ord(text[0]):04X}"
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


if __name__ == "__main__":
    sys.stdout.write(document())
