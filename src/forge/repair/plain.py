"""Runs of members and items that need no repair, read in one go: most of what is broken is broken in one place."""

from __future__ import annotations

import re
from typing import Any

_TEXT = r'"([^"\\\x00-\x1f]*+)"'
_NUMBER = r"(-?(?:0|[1-9]\d{0,17}+)(?:\.\d{1,17}+)?)"
_LITERAL = r"(true|false|null)"
_VALUE = rf"(?:{_TEXT}|{_NUMBER}|{_LITERAL})\s*+,\s*+"
# The look-ahead is the rule by which a quote closes its string: what follows must be a comma and a name, or a value.
_MEMBER = re.compile(rf'"([^"\\\x00-\x1f]{{1,80}}+)"\s*+:\s*+{_VALUE}(?="(?:[^"\\\n]){{1,80}}+"\s*+:)')
PLAIN_KEY = re.compile(r'"([^"\\\x00-\x1f]{1,80}+)"\s*+:')
_ITEM = re.compile(rf'{_VALUE}(?=["{{\[\d-])')
_LITERALS = {"true": True, "false": False, "null": None}


def plain_members(text: str, pos: int, into: dict[str, Any]) -> int:
    """Read members from ``pos`` on into ``into`` while they are plain and another one follows; the offset reached."""
    match = _MEMBER.match(text, pos)
    while match is not None:
        name, string, number, literal = match.groups()
        into[name] = string if string is not None else _scalar(number, literal)
        pos = match.end()
        match = _MEMBER.match(text, pos)
    return pos


def plain_items(text: str, pos: int, into: list[Any]) -> int:
    """As :func:`plain_members`, for a list."""
    match = _ITEM.match(text, pos)
    while match is not None:
        string, number, literal = match.groups()
        into.append(string if string is not None else _scalar(number, literal))
        pos = match.end()
        match = _ITEM.match(text, pos)
    return pos


def _scalar(number: str | None, literal: str) -> Any:
    if number is None:
        return _LITERALS[literal]
    return float(number) if "." in number else int(number)
