"""Escape sequences inside strings, including the ones that JSON does not know."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import decoder

# In the module for long, but missing from the type stubs.
_scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]
_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "`": "`",
}
_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<unit>[0-9a-fA-F]{4})|u\{(?P<point>[0-9a-fA-F]{1,6})\}|U(?P<wide>[0-9a-fA-F]{8})|x(?P<byte>[0-9a-fA-F]{2})|(?P<char>.))",
    re.DOTALL,
)
_UNKNOWN = re.compile(r"\\(?![ntrbf/\\\"'`]|u[0-9a-fA-F]{4}|u\{|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2})")
_DRIVE = re.compile(r"[A-Za-z]:\\(?!\\)")
# Classes and assertions of regular expressions: \b beside one of these is a word boundary, never a backspace.
_REGEX_ONLY = re.compile(r"\\[dDwWsSB.+*?()\[\]{}|^$-]")


def unescape(raw: str) -> tuple[str, tuple[str, ...]]:
    r"""The text that ``raw`` (a string's inside, without its quotes) stands for, and the codes of what was mended.

    Unknown escapes (``\d``, ``C:\P``) keep their backslash. In a string that proves by such an escape that its
    writer did not escape backslashes, a drive path is taken literally as a whole and ``\b`` in a regular
    expression stays ``\b``; both are reported as ``literal_backslashes``.
    """
    if "\\" not in raw:
        return raw, ()
    codes: tuple[str, ...] = ()
    try:
        value, end = _scanstring(raw + '"', 0, False)
        if end == len(raw) + 1:
            return value, ()
    except ValueError:
        codes = ("bad_escape",)
        if _DRIVE.match(raw) and "\\\\" not in raw and _UNKNOWN.search(raw):
            return raw, ("bad_escape", "literal_backslashes")
    is_pattern = bool(codes) and "\\b" in raw and _REGEX_ONLY.search(raw) is not None

    def one(match: re.Match[str]) -> str:
        found = match.lastgroup or "char"
        if found == "low":
            high, low = int(match["high"], 16), int(match["low"], 16)
            return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        if found == "char":
            char = match["char"]
            return "\\b" if is_pattern and char == "b" else _SIMPLE.get(char, match[0])
        number = int(match[found], 16)
        return chr(number) if number <= 0x10FFFF else match[0]

    return _ESCAPE.sub(one, raw), (*codes, "literal_backslashes") if is_pattern else codes
