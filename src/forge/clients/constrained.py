"""Constrained decoding by ``response_format``: the schema of the calls; on llama-server also white space kept short.

``response_format`` works with tools in the body (the prompt, and so its cache, stays the same), without tools, and
on every other OpenAI-compatible server; a ``grammar`` beside tools is refused by llama-server.
"""

from __future__ import annotations

from collections.abc import Iterable

from forge.core.request import Constraint
from forge.schema.lower import call_schema
from forge.wire.json_text import dumps

# llama.cpp's JSON grammars allow up to two line breaks and twenty blanks wherever white space may stand; small models
# use them all. Line breaks and tabs inside strings are escapes, so no valid text needs these tokens.
WHITE_SPACE_CANDIDATES: tuple[str, ...] = (
    *("\n" * n for n in range(1, 9)),
    *("\t" * n for n in range(1, 21)),
    *(" " * n for n in range(2, 33)),
    *("\n" * n + blank * m for n in (1, 2) for blank in (" ", "\t") for m in range(1, 21)),
    "\r",
    "\r\n",
    *(
        text + "\n" * n
        for text in ("{", "[", ",", ":", "}", "]", '"', '",', "},", "],", ":{", "{}")
        for n in (1, 2)
    ),
)
"""Texts that are banned during constrained decoding where the model's vocabulary has them as one token."""


def response_format(constraint: Constraint) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The body's ``response_format`` for ``constraint``, and what the schema had to give up on the way."""
    lowered = call_schema(constraint.tools, longest_text=constraint.longest_text)
    schema = {"name": "call", "schema": lowered.schema, "strict": True}
    return {"response_format": dumps({"type": "json_schema", "json_schema": schema})}, lowered.given_up


def constraint_fields(
    constraint: Constraint, banned_tokens: Iterable[int], *, biased: bool
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The body's fields for ``constraint``, and what the schema had to give up on the way.

    ``biased``: the caller has a ``logit_bias`` of its own, which is kept instead of the ban.
    """
    fields, given_up = response_format(constraint)
    bans = [[token, False] for token in banned_tokens]
    if bans and not biased:
        fields["logit_bias"] = dumps(bans)
    return fields, given_up
