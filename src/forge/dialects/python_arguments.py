"""Reads ``(k="v", n=1)`` as models write it: Python or JSON literals, broken quoting, zero-padded numbers."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple

from forge.core.ledger import Fix, Risk
from forge.dialects.json_lexer import Event, JsonLexer
from forge.repair.tolerant import read_json

_LONGEST_LITERAL = 100_000
_PLAIN_ESCAPES = re.compile(r"(?:[^\\\x00]++|\\[\\'\"abfnrtvxuU\n])*+\Z")
"""Text with escapes that Python knows; of others it only warns, and the tolerant reader keeps their backslash."""
_NAME = r"(?:[^\W\d]|\\_)(?:[\w.-]|\\_)*"
"""A keyword, perhaps with its underscores escaped as Markdown does."""
_KEY = re.compile(rf"\s*(?:({_NAME})|(['\"])([\w.-]+)\2)\s*(?:=(?!=)|:)\s*")
_STRING = re.compile(r"[rRbBuUfF]{0,2}('''|\"\"\"|['\"])")
_SCALAR = re.compile(r"[^,()\[\]{}'\"=]+")
_GAP = re.compile(r"[\s,;]*")
_WORDS = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
    "none": None,
}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_OPERATOR = re.compile(r"\s[-+*/%|&]\s")
_NEXT = re.compile(
    rf"\s*(?:,\s*(?:(?:{_NAME}|['\"][\w.-]+['\"])\s*[=:]|[)\]}}'\"{{\[\d]|\Z|\*\*)|[)\]}}]|\Z)"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
    "a": "\a",
    "0": "\0",
    "/": "/",
}


class Arguments(NamedTuple):
    """What stood between the parentheses. ``positional`` values had no name."""

    named: dict[str, Any]
    positional: list[Any]
    fixes: tuple[Fix, ...]


def read_arguments_list(text: str, keys: frozenset[str]) -> Arguments | None:
    """Read ``text``, from its opening to its closing parenthesis; None if it cannot be read."""
    reader = _Reader(text, keys)
    return reader.run()


class _Reader:
    def __init__(self, text: str, keys: frozenset[str]) -> None:
        self.text = text
        self.stop = len(text) - 1  # the closing parenthesis
        self.keys = keys
        self.pos = 1
        self.fixes: list[Fix] = []

    def run(self) -> Arguments | None:
        named: dict[str, Any] = {}
        positional: list[Any] = []
        while True:
            gap = _GAP.match(self.text, self.pos, self.stop)
            self.pos = gap.end() if gap else self.pos
            if self.pos >= self.stop:
                return Arguments(named, positional, tuple(self.fixes))
            key = _KEY.match(self.text, self.pos, self.stop)
            unpacked = self.text.startswith("**", self.pos)
            self.pos = key.end() if key else self.pos + 2 * unpacked
            before = self.pos
            try:
                value = self.value()
            except ValueError:
                return None
            if self.pos <= before:
                return None
            if key:
                named[(key.group(1) or key.group(3)).replace("\\_", "_")] = value
            elif unpacked and isinstance(value, dict):
                named.update(value)
            else:
                positional.append(value)

    def value(self) -> Any:
        text, pos = self.text, self.pos
        if _STRING.match(text, pos, self.stop):
            return self.strings()
        if text[pos] in "{[(":
            literal = self.literal(pos)
            if literal is not None:
                return literal
            reading = read_json(text[: self.stop], pos, keys=self.keys)
            if not reading.complete or not reading.closed:
                raise ValueError("unreadable container")
            self.pos = reading.end
            self.fixes += reading.fixes
            return reading.value
        match = _SCALAR.match(text, pos, self.stop)
        if match is None:
            raise ValueError("no value")
        self.pos = match.end()
        if self.pos < self.stop and text[self.pos] != ",":
            raise ValueError("an expression, not a value")
        return self.scalar(match.group().strip())

    def literal(self, pos: int) -> dict[str, Any] | list[Any] | None:
        """A container that is valid Python as it stands."""
        end, event = JsonLexer().run(self.text[: self.stop], pos, final=True)
        source = self.text[pos:end]
        if event is not Event.CLOSED or len(source) > _LONGEST_LITERAL or not _PLAIN_ESCAPES.match(source):
            return None
        try:
            value = json.loads(json.dumps(ast.literal_eval(source)))  # tuples and keys as JSON has them
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
        if not isinstance(value, dict | list):
            return None
        self.pos = end
        return value

    def scalar(self, word: str) -> Any:
        if word in _WORDS:
            return _WORDS[word]
        if _NUMBER.match(word):
            if word.lstrip("+-").isdecimal() and len(word) < 4000:
                return int(word)
            return float(word)
        if _OPERATOR.search(word):
            raise ValueError("an expression, not a value")
        self.fixes.append(Fix(code="unquoted_value", risk=Risk.RISKY, after=word))
        return word

    def strings(self) -> str:
        """One string, or several written side by side."""
        parts: list[str] = []
        while True:
            match = _STRING.match(self.text, self.pos, self.stop)
            if match is None:
                return "".join(parts)
            quote = match.group(1)
            raw = "r" in match.group()[: -len(quote)].lower()
            end = self._closing(match.end(), quote)
            body = self.text[match.end() : end]
            parts.append(body if raw else _ESCAPE.sub(_unescape, body) if "\\" in body else body)
            self.pos = end + len(quote)
            rest = re.compile(r"\s*\+?\s*").match(self.text, self.pos, self.stop)
            if rest and _STRING.match(self.text, rest.end(), self.stop):
                self.pos = rest.end()

    def _closing(self, pos: int, quote: str) -> int:
        """The first quote behind which the arguments can go on; a quote inside a word is content."""
        text = self.text
        first = -1
        tries = 0
        while True:
            at = text.find(quote, pos, self.stop)
            if at < 0:
                raise ValueError("a string that does not end")
            slashes = at - len(text[pos:at].rstrip("\\")) - pos if at > pos and text[at - 1] == "\\" else 0
            if slashes % 2:
                pos = at + 1
                continue
            first = at if first < 0 else first
            after = at + len(quote)
            if _NEXT.match(text, after) or (re.compile(r"\s*\+?\s*['\"]").match(text, after) and tries == 0):
                if at != first:
                    self.fixes.append(Fix(code="inner_quotes", risk=Risk.RISKY))
                return at
            tries += 1
            pos = at + 1


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else match.group()
    return match.group()
