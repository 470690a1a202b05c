"""Quotes that models use, and what can follow a string that ends."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache


class Place(Enum):
    """Where a string stands: it decides what may follow its closing quote."""

    ROOT = 0
    KEY = 1
    MEMBER = 2
    ITEM = 3


CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": '”“"＂',
    "”": '”“"＂',
    "„": '”“"',
    "＂": '＂"”',
    "‘": "’‘'",
    "’": "’‘'",
    "＇": "＇'",
    "«": "»",
}
"""Opening quotes, each with the quotes that may close it."""

QUOTES = frozenset(CLOSERS)
CLOSING = frozenset("".join(CLOSERS.values()))

_KEY = (
    r"(?:[\"'“”‘’＂`]((?:[^\"'“”‘’＂`\n\\]|\\.){0,80}+)[\"'“”‘’＂`]\s*+[:：]"
    r"|([A-Za-z_$][\w$-]{0,79}+)\s*+[:：](?!//))"
)
KEY_AHEAD = re.compile(_KEY)
VALUE_AHEAD = re.compile(
    r"[\"'“‘＂{\[(\d+-]|true\b|false\b|null\b|None\b|True\b|False\b|NaN\b|-?Infinity\b|undefined\b"
)
END_MARK = re.compile(
    r"</[\w:.|｜-]*(?:tool|call|func|invoke|param|arg|action|json|xml|response|answer|input)[\w:.|｜-]*"
    r"|<(?:tool|end_|/?[\w:]*tool_call)[\w:|]*>|<[|｜]|</?[｜|]|```|\[/?[A-Z_]{4,}\]"
)
"""Tags, special tokens and fences that end a call: brackets still open before one were forgotten."""

NEVER_AFTER = re.compile(r"[A-Za-z0-9_.!?@$%^&*~>-]")
"""Characters that do not come right after a string."""

# What can follow a closing quote at all. It only has to let every true one through, fast; Strings decides.
_FOLLOWS = {
    Place.ROOT: r"",
    Place.MEMBER: rf"[,，、]\s*+(?:{_KEY}|[}}\],｝］，、/#\\]|\Z)|{_KEY}",
    Place.ITEM: r"[,，、]\s*+(?:[\"'“‘＂{\[(\d+\-tfnuITFN}\],｝］，、/#\\)]|\Z)|[\"'“”‘’＂{\[(\d\-tfnuITFN]",
}


@cache
def inside(opener: str) -> re.Pattern[str]:
    """What a string holds up to its first closing quote."""
    closers = CLOSERS[opener]
    return re.compile(rf"[^\\{closers}]*+(?:\\.[^\\{closers}]*+)*+", re.DOTALL)


@cache
def doubtful(opener: str, place: Place) -> re.Pattern[str]:
    """What a string holds up to the next quote that might close it, once a quote was found to be content."""
    closers = CLOSERS[opener]
    follows = rf"\s*+(?:[}}\]｝］)+/#\\<`]|\[/?[A-Z]|\Z|{_FOLLOWS[place]})"
    return re.compile(rf"[^\\{closers}]*+(?:(?:\\.|[{closers}](?!{follows}))[^\\{closers}]*+)*+", re.DOTALL)
