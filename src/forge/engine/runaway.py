"""Whether a text goes round in circles: how a small model looks that cannot end what it writes."""

from __future__ import annotations

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
