"""Thinking apart from the answer, in a text that is there as a whole."""

from __future__ import annotations

import re

__all__ = ["THINK_TAG_RE", "extract_think_tags"]

_PAIRS = (
    *((f"<{word}>", f"</{word}>") for word in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
_CLOSER_OF = dict(_PAIRS)
_OPENER = re.compile("|".join(re.escape(opener) for opener, _ in _PAIRS))
_CLOSER = re.compile("|".join(re.escape(closer) for _, closer in _PAIRS))

THINK_TAG_RE = re.compile(
    "|".join(rf"{re.escape(opener)}(.*?){re.escape(closer)}" for opener, closer in _PAIRS), re.DOTALL
)
"""One closed think block. For searching short texts; :func:`extract_think_tags` is linear on any text."""


def extract_think_tags(text: str) -> tuple[str, str]:
    """Split ``text`` into (reasoning, remaining).

    Reasoning is the stripped bodies of all closed blocks joined by a blank line, remaining the stripped text
    without them. Text before a closing tag that nothing opened is reasoning too: the prompt opened that block.
    Without such tags the result is ("", text), unchanged.
    """
    bodies: list[str] = []
    kept: list[str] = []
    pos = 0
    first = _CLOSER.search(text)
    opener = _OPENER.search(text)
    if first is None:
        return "", text
    if opener is None or first.start() < opener.start():
        bodies.append(text[: first.start()].strip())
        pos = first.end()
    absent: set[str] = set()
    search_from = pos
    while (opener := _OPENER.search(text, search_from)) is not None:
        closer = _CLOSER_OF[opener.group()]
        end = -1 if closer in absent else text.find(closer, opener.end())
        if end < 0:
            absent.add(closer)
            search_from = opener.end()
            continue
        kept.append(text[pos : opener.start()])
        bodies.append(text[opener.end() : end].strip())
        pos = search_from = end + len(closer)
    if not bodies:
        return "", text
    kept.append(text[pos:])
    return "\n\n".join(body for body in bodies if body), "".join(kept).strip()
