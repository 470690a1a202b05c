"""The ledger: every liberty taken with a model's output is a value that travels with the result.

Logs, corrections, metrics and policies all read these; nothing is mended silently.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Risk(StrEnum):
    """How sure a repair is. The order is part of the meaning: each class includes more doubt than the last."""

    SAFE = "safe"
    """Only one reading is possible (a trailing comma, a Python ``True``): accepted."""
    RISKY = "risky"
    """A reading was chosen among several (unescaped inner quotes): accepted only when the schema validates."""
    TRUNCATED = "truncated"
    """Something is missing at the end: never executed."""


class Fix(Struct, frozen=True, kw_only=True):
    """One repair or coercion. ``path`` is a JSON pointer into the arguments ("" for the whole)."""

    code: str
    path: str = ""
    risk: Risk = Risk.SAFE
    before: Any = None
    after: Any = None


class Problem(Struct, frozen=True, kw_only=True):
    """One way in which a call breaks its tool's JSON Schema.

    ``path`` is a JSON pointer into the arguments, ``code`` the schema keyword that failed (``type``,
    ``required``, ``enum``, ...), ``message`` one short sentence a model can act on.
    """

    code: str
    path: str
    message: str
    expected: Any = None
    got: Any = None
