"""Numbers, literals and bare words."""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec import Struct

from forge.core.ledger import Risk

_LITERALS: dict[str, tuple[Any, str, Risk]] = {
    "true": (True, "", Risk.SAFE),
    "false": (False, "", Risk.SAFE),
    "null": (None, "", Risk.SAFE),
    "True": (True, "literal", Risk.SAFE),
    "False": (False, "literal", Risk.SAFE),
    "TRUE": (True, "literal", Risk.SAFE),
    "FALSE": (False, "literal", Risk.SAFE),
    "None": (None, "literal", Risk.SAFE),
    "NULL": (None, "literal", Risk.SAFE),
    "Null": (None, "literal", Risk.SAFE),
    "nil": (None, "literal", Risk.SAFE),
    "undefined": (None, "literal", Risk.SAFE),
    "NaN": (None, "not_a_number", Risk.RISKY),
    "nan": (None, "not_a_number", Risk.RISKY),
    "Infinity": (None, "not_a_number", Risk.RISKY),
    "-Infinity": (None, "not_a_number", Risk.RISKY),
    "inf": (None, "not_a_number", Risk.RISKY),
    "-inf": (None, "not_a_number", Risk.RISKY),
}
_WORD = re.compile(r"-?[A-Za-z]{2,9}(?![\w$.-])")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d+)(?:[eE][+-]?\d+)?)")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_AFTER_NUMBER = re.compile(r"[\s,\]})<;/#`\\，｝］\ufeff]|\Z")
_BARE = re.compile(r"[^,\[\]{}<>\"'`\n\r“”，｝］]{1,400}+")
_LONGEST_INTEGER = 4000


class ScalarToken(Struct, frozen=True):
    """``code`` is "" for valid JSON; ``certain`` is False when the text could go on (a number at its end)."""

    value: Any
    end: int
    code: str = ""
    risk: Risk = Risk.SAFE
    certain: bool = True
    written: str = ""


def read_scalar(text: str, pos: int, *, bare: bool) -> ScalarToken | None:
    """The number, literal or (with ``bare``) unquoted string at ``pos``; None when there is none."""
    match = _WORD.match(text, pos)
    if match is not None and match[0] in _LITERALS:
        value, code, risk = _LITERALS[match[0]]
        return ScalarToken(value, match.end(), code, risk, written=match[0])
    match = _NUMBER.match(text, pos)
    if match is not None and _AFTER_NUMBER.match(text, match.end()):
        return _number(match[0], match.end(), certain=match.end() < len(text))
    return _bare(text, pos) if bare else None


def _number(written: str, end: int, *, certain: bool) -> ScalarToken:
    if len(written) > _LONGEST_INTEGER:  # CPython refuses to convert such integers, and it would take long
        return ScalarToken(written, end, "huge_number", Risk.RISKY, certain, written)
    code = "" if _JSON_NUMBER.fullmatch(written) else "number"
    digits = written.replace("_", "")
    value: int | float
    if digits.lower().lstrip("+-").startswith("0x"):
        value = int(digits, 16)
    elif digits.lstrip("+-").isdigit():
        value = int(digits)
    else:
        value = float(digits)
        if not math.isfinite(value):
            return ScalarToken(written, end, "huge_number", Risk.RISKY, certain, written)
    return ScalarToken(value, end, code, Risk.SAFE, certain, written)


def _bare(text: str, pos: int) -> ScalarToken | None:
    match = _BARE.match(text, pos)
    if match is None:
        return None
    word, end = match[0].rstrip(), match.end()
    if not word or word.startswith("...") or not any(char.isalnum() for char in word):
        return None
    if end < len(text) and text[end] in "\"'”" and re.match(r"\s*[,}\]]", text[end + 1 : end + 20]):
        end += 1  # the opening quote was forgotten
    elif end < len(text) and text[end] not in ",}]\n\r，｝］":
        return None
    return ScalarToken(word, end, "bare_string", Risk.RISKY, end < len(text), word)
