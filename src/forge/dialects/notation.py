"""What a notation is: the strings that open it, where they may stand, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import Enum, auto
from typing import TypeAlias

from msgspec import Struct

from forge.dialects.candidate import Candidate

Reader: TypeAlias = Callable[[Candidate], Generator[None, None, bool]]
"""Reads a candidate whose cursor stands on the opener (or on the name before it). True: it was this notation,
up to the cursor. False: it is none, and everything that is not final yet is looked at again."""


Quick: TypeAlias = Callable[[Candidate], bool]
"""Takes what is nearly always there, where all of it has arrived and nothing has to be found out. False: it is not,
and the candidate is as it was. What it takes the reader would have taken too."""


class Where(Enum):
    """Where an opener has to stand to count."""

    ANYWHERE = auto()
    LINE = auto()
    """Alone at the start of a line."""
    LABEL = auto()
    """At the start of a line or right behind a label that ends in a colon."""
    MESSAGE = auto()
    """Before any visible text."""


class Opener(Struct, frozen=True):
    """One string that may begin a notation.

    ``named``: an offered tool's name stands right before it, and the candidate begins with that name.
    ``tool``: the string is a pattern that holds ``N``, to be filled with each offered name.
    """

    text: str
    where: Where = Where.ANYWHERE
    named: bool = False
    tool: bool = False


class Notation(Struct, frozen=True, kw_only=True):
    """One way of writing calls (or text about them).

    ``plain`` gives the end of a stretch that begins at an offset and is certainly text, -1 where that cannot be
    told yet or is not so; such a stretch is shown without a reader
    (for openers that count anywhere).
    ``repeats``: an opener written several times in a row is read as if it stood there once.
    ``quotable``: the text before may turn it into an example (a sentence that ends in "like this:").
    ``written_out``: people write it as well when they show a call, so a sentence that presents it makes it one.
    ``example`` is a call of ``get_weather`` with ``city`` Oslo as this notation writes it.
    """

    name: str
    title: str
    seen_in: str
    openers: tuple[Opener, ...]
    read: Reader
    example: str = ""
    quotable: bool = True
    written_out: bool = False
    repeats: bool = False
    plain: Callable[[str, int], int] | None = None
    quick: Quick | None = None


def anywhere(*texts: str) -> tuple[Opener, ...]:
    """Openers that count wherever they stand."""
    return tuple(Opener(text) for text in texts)
