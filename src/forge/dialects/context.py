"""What stands before a candidate: whether it is alone on its line, and whether the text says it is no real call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

_KEPT = 400
"""Characters of visible text that are remembered: a cue further away does not speak about this call."""
_LONGEST = 4 * _KEPT
"""The tail is cut back only when it gets longer than this; nobody looks further back than ``_KEPT``."""
BLANK = " \t\r\xa0\u200b\u200c\u200d\u2060\ufeff"
"""White space within a line, and characters without width."""

_DO = r"(?:run|call|execute|invoke|send|issue|emit|perform|use|make|trigger|write|do)"
_STRONG = (
    r"\b(?:for (?:example|instance)\b|e\.g\.?|such as\b|(?:something|anything|body|request|payload|object|message|string) like\b"
    r"|(?:an?|the|this|following|previous) (?:\w+ )?(?:example|sample|snippet|template|placeholder)s?"
    r"(?=\s*(?:[:.,]|$|(?:of|is|are|call|request|format|syntax|below|above)\b))|(?:^|\s)examples?:"
    r"|(?:call|request|message|format|syntax|reply|response|output|json|block|tag|one|it|this)s?"
    r" (?:would |will |might |should |could )?(?:looks? (?:like|as follows)|reads?\b|is written|has (?:this|the following) (?:form|shape))"
    r"|(?:typical|minimal|equivalent|canonical|generic|dummy) (?:\w+ )?(?:call|request|invocation|usage|json|xml|python|syntax)\b"
    r"|(?:sample|expected|actual) (?:output|input|request|response|reply|result|call|json)\b|(?:copy and )?paste this\b"
    r"|(?:last|previous|earlier) (?:message|reply|response|answer)s?\b"
    r"|demo:|as an? (?:illustration|demonstration)\b|(?:one|another|the (?:right|usual|normal|proper)) way (?:to|of|is)\b"
    r"|(?:use|call|invoke|try) (?:it|calling it|the function|this function) (?:this way|in|with|from|as follows)\b"
    r"|(?:is|was) (?:this|that) what\b|did you mean\b|what (?:does|do|would) (?:this|that|these|it)\b"
    r"|(?:format|syntax|schema|template|shape|usage|documentation|docs|notation|convention|specification)"
    r" (?:is|are|for|of|looks?|shows?|says?|reads?|uses?|expects?)\b|usage:|syntax:|format:|template:"
    r"|here(?:['’]s| is| are) (?:how|what) (?:you|one|it|a|an|the|that|such|to)\b"
    r"|here(?:['’]s| is| are) the (?:format|syntax|template|shape|way)\b"
    r"|hypothetical\w*|option [a-z0-9]\b|(?:two|three|four|several|these|following) (?:options|ways|alternatives)\b"
    r"|log (?:shows|says|contains)|(?:was|were) called with"
    r"|(?:previous|earlier|last) (?:\w+ )?(?:run|call|turn|attempt) (?:was|were|ended|failed|used|returned|looked|had)\b"
    r"|(?:earlier|previously),? (?:i|we)\b|(?:i|we|it) (?:already|previously|earlier) (?:called|ran|executed|sent|used))"
)
"""The text shows, quotes or reports a call."""
_WEAK = (
    rf"\b(?:would (?:then |just |simply )?(?:have|be|look|{_DO}|never|not)\b|you['’]d\b|wouldn['’]t|(?:could|might) (?:have (?:\w+ )?|also )?{_DO}(?:ed|ing|t)?\b"
    rf"|(?:will not|won['’]t|cannot|can['’]t|can not|should (?:not|never)|shouldn['’]t|must not|do not|don['’]t|did not"
    rf"|didn['’]t|never|not going to|refus\w+ to|declin\w+ to) (?:\w+ ){{0,2}}?{_DO}(?:ning|ing|ting)?\b"
    rf"|(?:you|users?|one|agents?|models?|people|clients?|they|developers?) (?:can|could|may|might|would|should|must|need to|have to)"
    rf" (?:\w+ )?(?:{_DO}|test|try|pass|type)\b|you (?:simply |just |then |only )?(?:call|pass|send|write|type|invoke)\b"
    r"|your (?:\w+ )?(?:code|client|script|app|program|server|parser|test|request|body|payload|json|config)s? (?:should|must|would|can|could|may|might)\b"
    r"|(?:the|an?) (?:tests?|readme|docs|documentation|manual|tutorial|article|page|issue|ticket|spec)"
    r" (?:says?|said|contains?|shows?|quotes?|mentions?|suggests?|recommends?)\b"
    r"|in the (?:\w+ )?(?:logs?|docs|readme|tests?|trace|transcript|documentation|manual|changelog) (?:i|we|you) (?:can )?(?:see|find|found|saw)\b"
    r"|(?:models?|agents?|clients?|servers?|they|people) (?:\w+ )?(?:write|emit|send|print|produce|generate|use)s?\b"
    r"|if (?:you|we|they) (?:had|wanted|were|would|ever|need)\b|if i (?:had|were)\b|(?:should|shall|may|can) i\b"
    r"|(?:do you want|would you like|want) (?:me )?to\b|imagin\w+|suppose\b|pretend\b)"
)
"""The text speaks about what is not done, unless it goes on to say what is (:data:`_ANNOUNCED`)."""
_ANNOUNCED = r"\b(?:i['’]ll|i will(?! not)|let me|let['’]s|i['’]m (?:going to|now)|i am (?:going to|now)|now|so i|instead,? i|first)\b"
_MANNER = r"\blike (?:this|so|the following|these)\b"
"""The text shows how a call is made, unless it says that it is being made (:data:`_MADE`)."""
_MADE = rf"\b(?:i['’]ll|i will(?! not)|let me|i['’]m (?:going to|now)|i am (?:going to|now)) (?:\w+ ){{0,2}}?{_DO}\b"


@cache
def _cue(pattern: str) -> re.Pattern[str]:
    """For text in lower case: with IGNORECASE no alternative is passed over by its first letter."""
    return re.compile(pattern)


_SENTENCE = re.compile(r"[.!?。！？](?:[\"')\]]*)(?=\s|\Z)|\n\s*\n")
_PLACEHOLDER = re.compile(
    r"<([A-Za-z][\w .-]{0,40})>\Z|\{\{?([A-Za-z][\w .-]{0,40})\}?\}\Z|\[([A-Za-z][\w .-]{0,40})\]\Z"
)
_BLANKED = re.compile(r"(?:YOUR|INSERT|ENTER)[_ -][A-Z0-9_ -]+\Z|\.\.\.\Z|…\Z")
_PLACEHOLDER_STARTS = frozenset("<{[YIE.…")
_FILLERS = ("your ", "insert ", "enter ", "some ", "the ", "a ", "any ", "put ")


class Context:
    """The tail of what the user has been shown so far."""

    __slots__ = ("_joint", "_last", "_tail", "calls", "prose", "seam")

    def __init__(self) -> None:
        self._tail = ""
        self.prose = False
        """Visible text that is more than white space has been shown."""
        self.seam = True
        """Nothing but white space was shown since the last call or markup."""
        self.calls = 0
        """How many calls were found so far."""
        self._last = ""
        self._joint = False

    def shown(self, text: str) -> str:
        """Visible text is released; gives it with a line break in front where a call parted two words."""
        if self._joint:
            self._joint = False
            if self._last and not self._last.isspace() and not text[0].isspace():
                text = "\n" + text
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
        return self._tail[-_KEPT:].rstrip(BLANK)[-1:] in (":", "：")

    def quoted(self) -> bool:
        """A quotation mark or a list or quote marker stands directly before."""
        last = self._tail[-1:]
        if last in ('"', "“", "'", "‘", "(", "«"):
            return True
        return self.line().lstrip(BLANK).startswith(">")

    def example(self) -> bool:
        """The sentence before says that what follows is an example, a refusal, an option or a quotation."""
        if not self.prose:
            return False
        if self.quoted():
            return True
        sentence = self._sentence().lower()
        if _cue(_STRONG).search(sentence):
            return True
        manner = _cue(_MANNER).search(sentence)
        if manner is not None and not _cue(_MADE).search(sentence, 0, manner.start()):
            return True
        weak = _cue(_WEAK).search(sentence)
        return weak is not None and not _cue(_ANNOUNCED).search(sentence, weak.end())

    def _sentence(self) -> str:
        text = self._tail[-_KEPT:].rstrip()
        start = 0
        for match in _SENTENCE.finditer(text):
            if match.end() < len(text):
                start = match.end()
        return text[start:]


def is_placeholder(key: str, value: object) -> bool:
    """Whether ``value`` of parameter ``key`` only names what should stand there (``<city>``, ``{{city}}``, ``...``)."""
    if not isinstance(value, str):
        return False
    if len(value) > 60 or value.lstrip()[:1] not in _PLACEHOLDER_STARTS:
        return False
    match = _PLACEHOLDER.match(value.strip())
    if match is None:
        return _BLANKED.match(value.strip()) is not None
    inner = next(group for group in match.groups() if group).lower().replace("_", " ").replace("-", " ")
    name = key.lower().replace("_", " ").replace("-", " ")
    return inner in name or name in inner or inner.startswith(_FILLERS)


def has_placeholder(args: object) -> bool:
    """Whether an argument of a call is a placeholder."""
    return isinstance(args, Mapping) and any(is_placeholder(str(key), value) for key, value in _items(args))


def _items(args: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return list(args.items())
