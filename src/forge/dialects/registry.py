"""All notations, in the order in which they are tried where several begin alike.

To add one: write its module (or a row in a table of one), and list it here.
"""

from __future__ import annotations

from functools import cache

from forge.dialects.bare import BARE
from forge.dialects.fences import FENCES
from forge.dialects.functions import FUNCTIONS
from forge.dialects.gemma import GEMMA
from forge.dialects.harmony import HARMONY
from forge.dialects.inkling import INKLING
from forge.dialects.lines import LINES
from forge.dialects.literals import Literals
from forge.dialects.minimax_m3 import MINIMAX_M3
from forge.dialects.notation import Notation, Where
from forge.dialects.plamo import PLAMO
from forge.dialects.sections import SECTIONS
from forge.dialects.solar import SOLAR
from forge.dialects.special import SPECIAL
from forge.dialects.thinking import THINKING
from forge.dialects.tool_elements import TOOL_ELEMENTS
from forge.dialects.wrappers import WRAPPERS

NOTATIONS: tuple[Notation, ...] = (
    *WRAPPERS,
    *FUNCTIONS,
    *SECTIONS,
    *PLAMO,
    *SOLAR,
    *INKLING,
    *MINIMAX_M3,
    *HARMONY,
    *GEMMA,
    *LINES,
    *TOOL_ELEMENTS,
    *THINKING,
    *FENCES,
    *BARE,
    *SPECIAL,
)


@cache
def native() -> tuple[Literals, dict[str, Notation]]:
    """Openers that are calls wherever they stand, and their notations."""
    found: dict[str, Notation] = {}
    for notation in NOTATIONS:
        for opener in notation.openers:
            if notation.example and opener.where is Where.ANYWHERE and not opener.named and not opener.tool:
                found.setdefault(opener.text, notation)
    found.pop("```", None)
    return Literals(found), found
