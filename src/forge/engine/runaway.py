"""Whether a text goes round in circles: how a small model looks that cannot end what it writes."""

from __future__ import annotations

from forge.schema.bounded import LONG_TEXT

CURBED_TEXT = 80
"""Characters of a text in an attempt that follows one which ran away: what such a model has to say is short."""
_LONGEST_PERIOD = 160
_SHORTEST_TAIL = 60
_REPETITIONS = 3


def runs_in_circles(text: str) -> bool:
    """Whether ``text`` ends in the same characters over and over, three times and for 60 characters at least.

    Exact repetition only: rows of a table, records and import lists resemble one another and are content.
    """
    if len(text) < _SHORTEST_TAIL:
        return False
    for period in range(1, min(_LONGEST_PERIOD, len(text) // _REPETITIONS) + 1):
        length = max(period * _REPETITIONS, _SHORTEST_TAIL)
        if text[-length:-period] == text[-length + period :]:
            return True
    return False


def next_text_bound(text: str, *, cut_by_token_limit: bool, cut_by_bound: bool) -> int | None:
    """The bound on texts with which a constrained call that did not fit should be asked for again; None: not at all.

    A text that goes round in circles is curbed: there is nothing in it to lose. One that is merely longer than the
    usual bound gets room, since half of a file is worse than none. One that the token limit cut is cut again.

    Args:
        text: the constrained answer as it was written.
        cut_by_token_limit: it ended because of the token limit.
        cut_by_bound: a text in it fills a bound that the tool's schema did not set.
    """
    if not (cut_by_token_limit or cut_by_bound):
        return None
    # One text may have run into its bound and left too few tokens for the next ones.
    if any(runs_in_circles(piece) for piece in text.split('"')):
        return CURBED_TEXT
    return LONG_TEXT if cut_by_bound else None
