"""What stands before a candidate: whether it is alone on its line, and whether the text says it is no real call."""

from __future__ import annotations

import re

from forge.dialects.cues import last_sentence, speaks_of_example

_KEPT = 400
"""Characters of visible text that are remembered: a cue further away does not speak about this call."""
_LONGEST = 4 * _KEPT
"""The tail is cut back only when it gets longer than this; nobody looks further back than ``_KEPT``."""
BLANK = " \t\r\xa0\u200b\u200c\u200d\u2060\ufeff"
"""White space within a line, and characters without width."""

_MEMBER = re.compile(
    r"(?:(?:\{|(?:[\"'}\]\d]|true|false|null|True|False|None),)\s*(?:\"[^\"\n]*\"|'[^'\n]*')|\{\s*\w+)\s*[:：]\Z"
)

_PLACEHOLDER = re.compile(
    r"<([A-Za-z][\w .-]{0,40})>\Z|\{\{?([A-Za-z][\w .-]{0,40})\}?\}\Z|\[([A-Za-z][\w .-]{0,40})\]\Z"
)
_BLANKED = re.compile(r"(?:YOUR|INSERT|ENTER)[_ -][A-Z0-9_ -]+\Z|\.\.\.\Z|…\Z")
_THOUGHTS = re.compile(r"(?:(?:\A|\n)[ \t]*(?:Thought|Question)[ \t]*:[^\n]*\s*)+\Z")
"""Lines of a ReAct transcript before its action: what is said about it stands before them."""
_LIST_MARKS = re.compile(r"(?:[\s\d,;)*•-]|(?<=\d)\.)*")
"""What may stand between the calls of one example."""
_LONGEST_PLACEHOLDER = 60
_PLACEHOLDER_STARTS = frozenset("<{[YIE.…")
_FILLERS = ("your ", "insert ", "enter ", "some ", "the ", "a ", "any ", "put ")


class Context:
    """The tail of what the user has been shown so far."""

    __slots__ = ("_joint", "_last", "_tail", "calls", "prose", "refused", "seam")

    def __init__(self) -> None:
        self._tail = ""
        self.prose = False
        """Visible text that is more than white space has been shown."""
        self.seam = True
        """Nothing but white space was shown since the last call or markup."""
        self.calls = 0
        """How many calls were found so far."""
        self.refused = ""
        """The notation of an example that ended here: one more call in it is part of the example."""
        self._last = ""
        self._joint = False

    def shown(self, text: str) -> str:
        """Visible text is released; gives it with a line break in front where a call parted two words."""
        if self._joint:
            self._joint = False
            if self._last and not self._last.isspace() and not text[0].isspace():
                text = "\n" + text
        if self.refused and not _LIST_MARKS.fullmatch(self._last + text, len(self._last)):
            self.refused = ""
        self._last = text[-1]
        tail = self._tail + text
        self._tail = tail if len(tail) < _LONGEST else tail[-_KEPT:]
        if not text.isspace():
            self.seam = False
            self.prose = True
        return text

    def forget(self) -> None:
        """What was shown turned out to be thinking: the answer begins here, and nothing before speaks about it."""
        self._tail = ""
        self.prose = False
        self.seam = True
        self.refused = ""

    def cut(self, *, call: bool = False) -> None:
        """Markup or a call was taken out: what follows stands as if on a line of its own."""
        if self._tail[-1:] != "\n":
            self._tail += "\n"
        self.seam = True
        self._joint |= call

    @property
    def last(self) -> str:
        """The last character shown, or ""."""
        return self._tail[-1:]

    def line(self) -> str:
        """The current line up to here."""
        tail = self._tail[-_KEPT:]
        return tail[tail.rfind("\n") + 1 :]

    def at_line_start(self) -> bool:
        """Nothing but blanks since the line began."""
        last = self._tail[-1:]
        if last not in BLANK:
            return last == "\n"
        stripped = self._tail[-_KEPT:].rstrip(BLANK)
        return not stripped or stripped[-1] == "\n"

    def announced(self) -> bool:
        """The line ends in a label ("Calling:")."""
        return self._tail[-_KEPT:].rstrip(BLANK)[-1:] in (":", "：") and not self.in_structure()

    def in_structure(self) -> bool:
        """Text that stands here is part of a larger value: an open bracket or a member's key comes before it."""
        tail = self._tail[-_KEPT:].rstrip()
        return tail[-1:] in ("[", "{", "(") or (tail[-1:] in (":", "：") and _MEMBER.search(tail) is not None)

    def quoted(self) -> bool:
        """A quotation mark or a list or quote marker stands directly before."""
        last = self._tail[-1:]
        if last in ('"', "“", "'", "‘", "(", "«"):
            return True
        return self.line().lstrip(BLANK).startswith(">")

    def example(self, *, written_out: bool = False) -> bool:
        """The sentence before says that what follows is an example, a refusal, an option or a quotation.

        ``written_out``: what follows is written in a way in which people show a call as well (plain JSON, a code
        block), so that a sentence which only presents it is enough.
        """
        if not self.prose:
            return False
        if self.quoted() or (written_out and self.in_structure()):
            return True
        tail = self._tail[-_KEPT:]
        if speaks_of_example(last_sentence(tail), written_out=written_out):
            return True
        before = _THOUGHTS.sub("", tail.rstrip())
        return before != "" and len(before) < len(tail.rstrip()) and speaks_of_example(last_sentence(before))


def is_placeholder(key: str, value: object) -> bool:
    """Whether ``value`` of parameter ``key`` only names what should stand there (``<city>``, ``{{city}}``, ``...``)."""
    if not isinstance(value, str):
        return False
    if len(value) > _LONGEST_PLACEHOLDER or value.lstrip()[:1] not in _PLACEHOLDER_STARTS:
        return False
    match = _PLACEHOLDER.match(value.strip())
    if match is None:
        return _BLANKED.match(value.strip()) is not None
    inner = next(group for group in match.groups() if group).lower().replace("_", " ").replace("-", " ")
    name = key.lower().replace("_", " ").replace("-", " ")
    return inner in name or name in inner or inner.startswith(_FILLERS)


def has_placeholder(args: object) -> bool:
    """Whether an argument of a call is a placeholder."""
    if not isinstance(args, dict):
        return False
    for key, value in args.items():
        if not isinstance(value, str) or len(value) > _LONGEST_PLACEHOLDER:
            continue
        if (value[:1] in _PLACEHOLDER_STARTS or value[:1].isspace()) and is_placeholder(str(key), value):
            return True
    return False
