"""The structure of broken JSON: members, items, brackets; iterative, with one token of look-ahead."""

from __future__ import annotations

import re
from typing import Any

from forge.core.ledger import Fix, Risk
from forge.repair.frames import Frame, Stop
from forge.repair.gaps import Gaps
from forge.repair.plain import PLAIN_KEY, plain_items, plain_members
from forge.repair.quotes import END_MARK, QUOTES, Place
from forge.repair.reading import MAX_DEPTH, Fault, Ledger, Reading
from forge.repair.scalars import read_scalar
from forge.repair.strings import Strings

_OPENERS = {"{": "{", "｛": "{", "[": "[", "［": "[", "(": "("}
_CLOSERS = {"}": "{", "｝": "{", "]": "[", "］": "[", ")": "("}
_BARE_KEY = re.compile(r"([\w$@.-]{1,100}+)[\"'”]?(?=\s*+[:：=])")
_KEY_TO_END = re.compile(r"[\w$-]*+\s*+\Z")
_GLUED_COLON = re.compile(r"([\w$.-]{1,100}+)\s*[:：]\s*")
_COLON = re.compile(r"[:：]=?|=>?")
_PREFIX = re.compile(r"[rRbBuUfF]{1,2}(?=[\"'])")
_TAG = re.compile(r"</[A-Za-z]")
_COMMAS = ",，、;；"
_COMMA_RUN = re.compile(rf"[{_COMMAS}][{_COMMAS}\s]*+")


class TolerantReader:
    """Reads one value; used up by :meth:`run`."""

    def __init__(self, text: str, pos: int, keys: frozenset[str]) -> None:
        self.text, self.size, self.start = text, len(text), pos
        self.gaps = Gaps(text)
        self.strings = Strings(self.gaps, keys)
        self.ledger = Ledger()
        self.stack: list[Frame] = []
        self.pos = pos
        self.root: Any = None
        self.closed = self.certain = True

    def run(self) -> Reading:
        """The reading; nothing is raised."""
        self.pos = self.gaps.skip(self.pos)
        try:
            self._value(self.pos)
            while self.stack:
                self._step()
        except Stop as stop:
            value = self.stack[0].container if self.stack else None
            end = self.start if stop.fault in ("absent", "too_deep") else stop.pos
            fixes = () if stop.fault == "absent" else tuple(self.ledger.fixes)
            return Reading(value=value, end=end, fixes=fixes, fault=stop.fault, in_string=stop.in_string)
        fault: Fault = "" if self.certain else "cut_off"
        return Reading(
            value=self.root,
            end=self.pos,
            fixes=tuple(self.ledger.fixes),
            complete=self.certain,
            closed=self.closed and self.certain,
            fault=fault,
        )

    def _fix(self, code: str, risk: Risk = Risk.SAFE, path: str | None = None, **seen: Any) -> None:
        where = path if path is not None else (self.stack[-1].path if self.stack else "")
        self.ledger.add(Fix(code=code, path=where, risk=risk, **seen))

    # -- structure --

    def _step(self) -> None:
        frame = self.stack[-1]
        pos = self.gaps.skip(self.pos)
        if pos > self.pos and not self.gaps.plain(self.pos):
            self._fix("comment")
        self.pos = pos
        if pos >= self.size:
            self._end_of_text(frame)
        elif frame.fresh:
            read_plain = plain_members if frame.kind == "{" else plain_items
            self.pos = read_plain(self.text, self.pos, frame.container)
            self._first(frame, self.text[self.pos])
        else:
            self._next(frame, self.text[pos])

    def _first(self, frame: Frame, char: str) -> None:
        """A key, an item or a closer is expected."""
        commas = _COMMA_RUN.match(self.text, self.pos)
        if commas:
            self._fix("extra_comma")
            self.pos = commas.end()
        elif char in _CLOSERS:
            if frame.container and frame.kind != "(":
                self._fix("trailing_comma")
            self._close(frame, char)
        elif frame.kind == "{":
            if char == "{" and not frame.container and frame.doubled < 2:
                frame.doubled += 1
                self._fix("doubled_brace")
                self.pos += 1
            else:
                self._member(frame)
        else:
            self._value(self.pos)

    def _next(self, frame: Frame, char: str) -> None:
        """A comma or a closer is expected after a value."""
        if char in _COMMAS:
            if char != ",":
                self._fix("other_comma")
            frame.fresh = True
            self.pos += 1
        elif char in _CLOSERS:
            self._close(frame, char)
        elif self._at_mark():
            self._close_all(Risk.SAFE)
        elif frame.kind == "{":
            if char in QUOTES or _BARE_KEY.match(self.text, self.pos):
                self._fix("missing_comma")
                self._member(frame)
            elif char in "{[" and isinstance(frame.last, dict | list) and frame.repeat < 0:
                frame.repeat = self.pos
                self._value(self.pos)
            else:
                raise Stop("unreadable", self.pos)
        else:
            self._fix("missing_comma")
            self._value(self.pos)

    def _member(self, frame: Frame) -> None:
        self._key(frame)
        self.pos = self.gaps.skip(self.pos)
        if self.pos < self.size and self.text[self.pos] in ",}，｝":
            self._fix("missing_value", Risk.RISKY, frame.child_path())
            self._attach(None)
            return
        self._value(self.pos)

    def _key(self, frame: Frame) -> None:
        pos, text = self.pos, self.text
        plain = PLAIN_KEY.match(text, pos)
        if plain is not None:
            frame.key, self.pos = plain[1], plain.end()
            return
        glued: re.Match[str] | None = None
        if text[pos] in QUOTES:
            token = self.strings.read(pos, Place.KEY, len(self.stack))
            if token is None:
                raise Stop("cut_off", self.size)
            glued = (
                None if _COLON.match(text, self.gaps.skip(token.end)) else _GLUED_COLON.fullmatch(token.value)
            )
            frame.key = glued[1] if glued else token.value
            for code, risk in token.codes:
                self._fix(code, risk)
            end = token.end
        else:
            match = _BARE_KEY.match(text, pos)
            if match is None:
                fault: Fault = "cut_off" if _KEY_TO_END.match(text, pos) else "unreadable"
                raise Stop(fault, pos)
            frame.key, end = match[1], match.end()
            self._fix("unquoted_key", path=frame.child_path())
        if glued:
            self._fix("missing_quote", Risk.RISKY, frame.child_path())
            self.pos = end - 1
            return
        end = self.gaps.skip(end)
        colon = _COLON.match(text, end)
        if colon is None:
            if end >= self.size:
                raise Stop("cut_off", self.size)
            self._fix("missing_colon", Risk.RISKY, frame.child_path())
            self.pos = end
            return
        if colon[0] != ":":
            self._fix("other_colon")
        self.pos = colon.end()

    def _close(self, frame: Frame, char: str) -> None:
        kind = _CLOSERS[char]
        if char in "｝］":
            self._fix("other_bracket")
        if kind != frame.kind:
            if any(other.kind == kind for other in self.stack):
                self._fix("missing_closer", Risk.RISKY, frame.path)
                self._pop()
                return
            if kind == "(":
                raise Stop("unreadable", self.pos)
            self._fix("wrong_closer", Risk.RISKY)
        self.pos += 1
        while frame.doubled:
            frame.doubled -= 1
            pos = self.gaps.skip(self.pos)
            self.pos = pos + 1 if self.text.startswith("}", pos) else self.pos
        self._pop()

    def _pop(self) -> None:
        self._attach(self.stack.pop().container)

    def _attach(self, value: Any) -> None:
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if frame.repeat >= 0:
            self._repeated(frame, value)
            return
        frame.last, frame.fresh = value, False
        if frame.kind == "{":
            frame.container[frame.key] = value
        else:
            frame.container.append(value)

    def _repeated(self, frame: Frame, value: Any) -> None:
        """A second value without a key: the last one printed again, or the next object after a lost brace."""
        if value == frame.last:
            self._fix("repeated", path=frame.child_path())
            frame.repeat = -1
        elif len(self.stack) == 1 and isinstance(frame.last, dict):
            self.pos = frame.repeat
            self._close_all(Risk.RISKY)
        else:
            raise Stop("unreadable", frame.repeat)

    # -- values --

    def _value(self, pos: int) -> None:
        if pos >= self.size:
            raise Stop("cut_off" if self.stack else "absent", self.size)
        char = self.text[pos]
        frame = self.stack[-1] if self.stack else None
        if char in _OPENERS and (frame or char != "("):
            self._open(pos, char)
            return
        prefix = _PREFIX.match(self.text, pos) if char in "rRbBuUfF" else None
        if char == "`" and (frame is None or self.text.startswith("```", pos)):
            raise Stop("unreadable" if frame else "absent", pos)
        if char in QUOTES or prefix:
            start = prefix.end() if prefix else pos
            self._string(start, raw=prefix is not None and "r" in prefix[0].lower())
            return
        if self._at_mark():
            raise Stop("unreadable" if frame else "absent", pos)
        scalar = read_scalar(self.text, pos, bare=frame is not None)
        if scalar is None:
            raise Stop("unreadable" if frame else "absent", pos)
        if scalar.code:
            self._fix(scalar.code, scalar.risk, self._here(), before=scalar.written, after=scalar.value)
        self.pos, self.certain = scalar.end, scalar.certain
        self._attach(scalar.value)

    def _here(self) -> str:
        """The path of the value that is being read."""
        return self.stack[-1].child_path() if self.stack else ""

    def _open(self, pos: int, char: str) -> None:
        run = self.text[pos + 1 : pos + 2] == char and self.text.startswith(char * (MAX_DEPTH + 1), pos)
        if run or len(self.stack) >= MAX_DEPTH:
            raise Stop("too_deep", pos)
        self.stack.append(Frame(_OPENERS[char], self._here()))
        self.pos = pos + 1
        if char in "｛［(":
            self._fix("other_bracket")

    def _string(self, pos: int, *, raw: bool) -> None:
        place = Place.ROOT if not self.stack else Place.MEMBER if self.stack[-1].kind == "{" else Place.ITEM
        parts: list[str] = []
        while True:
            token = self.strings.read(pos, place, len(self.stack))
            if token is None:
                raise Stop("cut_off", self.size, in_string=True)
            parts.append(self.text[pos + 1 : token.end - 1] if raw else token.value)
            for code, risk in token.codes:
                self._fix(code, risk, self._here())
            plus = self.gaps.skip(token.end)
            pos = self.gaps.skip(plus + 1) if self.text.startswith("+", plus) else self.size
            if pos >= self.size or self.text[pos] not in QUOTES:
                break
            self._fix("concatenation", Risk.SAFE, self._here())
        self.pos, self.certain = token.end, True
        self._attach("".join(parts))

    # -- ends --

    def _at_mark(self) -> bool:
        return END_MARK.match(self.text, self.pos) is not None or _TAG.match(self.text, self.pos) is not None

    def _end_of_text(self, frame: Frame) -> None:
        whole = len(self.stack) == 1 and not frame.fresh and frame.repeat < 0 and self.certain
        if not whole:
            raise Stop("cut_off", self.size)
        self.closed = False
        self._close_all(Risk.RISKY)

    def _close_all(self, risk: Risk) -> None:
        while self.stack:
            self._fix("missing_closer", risk, self.stack[-1].path)
            self.stack[-1].repeat = -1
            self._pop()
        self.certain = True
